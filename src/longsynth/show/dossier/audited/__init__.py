"""The internal edition: real against synthetic, from an audit's files. Do not share it."""
