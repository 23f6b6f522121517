"""What a fabric costs: bill of materials and price."""
