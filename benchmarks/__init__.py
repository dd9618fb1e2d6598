"""What Hookline costs, as ratios against floors measured in the same run."""
