"""The internal edition: real against synthetic, from an audit's files. It may not leave."""
