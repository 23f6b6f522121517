"""Parts that nothing below imports: papers, testbeds, exports, profiling."""
