"""One folder per command, named as it is typed: its options, and the work behind them."""
