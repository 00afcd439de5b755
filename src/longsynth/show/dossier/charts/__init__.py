"""Charts as inline SVG: numbers in, escaped markup out. Colours are classes; style.css has them."""
