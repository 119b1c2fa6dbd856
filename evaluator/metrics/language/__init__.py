"""Plain analysis of text that the metrics share: tokens, words, sentences, stems, scripts and the language."""
