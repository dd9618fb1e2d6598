"""Hook objects: Python objects that answer six events, and the JSON they answer by over a wire."""
