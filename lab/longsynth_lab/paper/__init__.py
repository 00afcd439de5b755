"""The paper's study: experiments, tables, figures, report, page and the check of all of them."""
