"""
A long run of an engine over hooks that misbehave in every way known, and a look at what it left behind.

    python -m soak            # 20,000 fires, some minutes
    python -m soak --short    # 300 fires
"""
