"""The paper's study: experiments as data, one runner, tidy results."""
