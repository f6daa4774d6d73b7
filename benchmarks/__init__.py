"""Speed, memory and loss, stated as ratios within one run; `make bench` runs them all."""
