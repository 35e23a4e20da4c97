// SPDX-License-Identifier: MIT
import java.lang.management.ManagementFactory;
import jep.SharedInterpreter;

/** A virtual machine with Python, by Jep: JepHost FOLDER SECONDS. Prints as together.py does. */
public class JepHost implements Together.Call {
    public int call(int rounds) {
        return Together.spin(rounds);
    }

    static long now() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    static void javaPart() {
        Together.spin(8000000);
    }

    static void pythonPart(SharedInterpreter python) {
        python.invoke("python_leaf", 60000);
    }

    static void throughPart(SharedInterpreter python) {
        python.exec("through(CALL, 8000000)");
    }

    public static void main(String[] arguments) throws Exception {
        try (SharedInterpreter python = new SharedInterpreter()) {
            python.exec("import sys; sys.path.insert(0, '" + arguments[0] + "')");
            python.exec("from together import python_leaf");
            python.exec("def through(call, rounds): return call.call(rounds)");
            python.set("CALL", new JepHost());
            long end = System.nanoTime() + (long) (1e9 * Double.parseDouble(arguments[1]));
            long java = 0, pure = 0, through = 0;
            while (System.nanoTime() < end) {
                long a = now();
                javaPart();
                long b = now();
                pythonPart(python);
                long c = now();
                throughPart(python);
                long d = now();
                java += b - a;
                pure += c - b;
                through += d - c;
            }
            double total = (java + pure + through) / 100.0;
            System.out.println("java " + java / total);
            System.out.println("python " + pure / total);
            System.out.println("through " + through / total);
        }
    }
}
