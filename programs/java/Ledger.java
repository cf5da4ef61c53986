/*
 * Two threads price entries, and weigh them while they hold the ledger's lock. Takes longer than a second, in which Java's own thread
 * stops the others once to look after them.
 *
 *   each of 2   price 1 | lock | weigh 5 | unlock | ...     1200 times
 *
 * -Dleave.out=weigh leaves the weighing out.
 */
public class Ledger {
    private static final boolean WEIGHS = !"weigh".equals(System.getProperty("leave.out"));
    private static final double[] entries = new double[100];

    static double price(int number) {
        double sum = number;
        for (int i = 0; i < 60_000; i++)
            sum = Math.sqrt(sum + i);
        return sum;
    }

    static double weigh(double price) {
        if (!WEIGHS)
            return price;
        double sum = price;
        for (int i = 0; i < 300_000; i++)
            sum = sum * 0.999 + Math.abs(sum - i) * 0.0001;
        return sum;
    }

    static void enter(int number) {
        double price = price(number);
        synchronized (entries) {
            entries[number % entries.length] += weigh(price);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int number = 0; number < 1200; number++)
                    enter(number);
            });
            threads[i].start();
        }
        for (Thread thread : threads)
            thread.join();
        System.out.println(entries[1]);
    }
}
