"""The agent of the demo inside real frameworks; one module a framework, each with one function `build`."""
