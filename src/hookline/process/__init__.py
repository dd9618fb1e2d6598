"""Child processes, and nothing about hooks: started, bounded in time and output, ended as a whole tree."""
