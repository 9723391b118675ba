"""gradients -> histograms -> splits -> tree."""
