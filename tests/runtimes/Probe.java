// SPDX-License-Identifier: MIT
// Java's own faults and Holdfast's in one process: loaded by JNI, or before the Java VM by LD_PRELOAD.
public class Probe {
	static native int install();
	static native int all();
	static Object nothing;
	static int depth(int n) { return n == 0 ? 0 : 1 + depth(n + 1); }

	static void own() {
		int caught = 0;
		for (int i = 0; i < 20000; i++) {
			try { nothing.hashCode(); } catch (NullPointerException e) { caught++; }
		}
		for (int i = 0; i < 3; i++) {
			try { depth(1); } catch (StackOverflowError e) { caught++; }
		}
		if (caught != 20003)
			throw new RuntimeException("Java's own faults: " + caught);
	}

	public static void main(String[] arguments) throws Exception {
		System.load(arguments[0]);
		own();
		if (!arguments[1].equals("preload") && install() != 0)
			throw new RuntimeException("install");
		for (int i = 0; i < 20; i++) {
			if (all() != 0)
				throw new RuntimeException("all: " + all());
			own();
		}
		Thread thread = new Thread(() -> { own(); if (all() != 0) System.exit(7); own(); });
		thread.start();
		thread.join();
		System.out.println("good");
	}
}
