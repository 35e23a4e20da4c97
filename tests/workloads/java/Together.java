// SPDX-License-Identifier: MIT
/** Methods for tests/workloads/python/together.py. */
public class Together {
    static native int python(int turns);

    static int spin(int turns) {
        int total = 0;
        for (int i = 0; i < turns; i++)
            total = (total * 31 + i) & 0xffffff;
        return total;
    }

    static int middle(int turns) {
        return python(turns) + 1;
    }

    static int through(int turns) {
        return middle(turns);
    }
}
