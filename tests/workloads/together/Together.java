// SPDX-License-Identifier: MIT
/** Methods that a process of Python runs as well. */
public class Together {
    public interface Call {
        int call(int rounds);
    }

    static native int python(int rounds);

    public static int spin(int rounds) {
        int total = 0;
        for (int i = 0; i < rounds; i++)
            total = (total * 31 + i) & 0xffffff;
        return total;
    }

    static int middle(Call call, int rounds) {
        return call.call(rounds) + 1;
    }

    public static int through(Call call, int rounds) {
        return middle(call, rounds);
    }

    static int through(int rounds) {
        return middle(Together::python, rounds);
    }
}
