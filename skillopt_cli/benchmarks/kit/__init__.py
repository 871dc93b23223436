"""What benchmarks share: records, splits, answers, scorers, pictures, tools, judges, downloads."""
