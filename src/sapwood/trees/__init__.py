"""Growing trees: gradients -> histograms -> splits -> tree."""
