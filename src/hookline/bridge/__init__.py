"""
Hook programs of another format inside native hooks.

The native payload becomes the event it was made from. The program is run by the rules of its own format, with the
code that reads that format's own files, and what it says becomes a native reply. What a native reply cannot say is
never lost in silence: it stops what it was about where that can be stopped, and is a failure elsewhere.
"""
