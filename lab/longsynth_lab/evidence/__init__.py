"""The evidence pages: experiments, comparisons with rivals, and the text of each page."""
