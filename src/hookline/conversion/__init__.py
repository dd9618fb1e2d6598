"""From hooks of other formats to native ones: what a setup says, in words of a native file, and what is lost."""
