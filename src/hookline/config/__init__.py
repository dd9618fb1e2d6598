"""From files to hooks: where they are, what they say, in which order they count."""
