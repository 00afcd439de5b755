"""Charts as inline SVG: numbers in, escaped markup out. Colours are classes in style.css."""
