"""The budget book: what all fits about the same people cost together, and a cap on it.

events   what is written down, and the hash chain over it
balance  the rules: which grant and which charge a book accepts
file     one SQLite file, written so that a charge is on the disk before anything is released
book     what can be done with a book, and the checks that come before each charge
"""

from longsynth.govern.book.book import Book, init_book

__all__ = ["Book", "init_book"]
