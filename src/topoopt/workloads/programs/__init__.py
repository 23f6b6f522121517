"""Programs of torch.export and models in ONNX, as graphs of operators."""
