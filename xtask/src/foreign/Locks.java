// Locks of every kind that the Java library has, with sums that tell whether they locked. One line a test.
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.*;
import java.util.stream.LongStream;

public class Locks {
    static final int THREADS = 6;
    static final int ROUNDS = 30000;
    static long sum;

    interface Work { void run() throws Exception; }

    static void say(String name, boolean isRight) {
        System.out.println(name + (isRight ? " passed" : " failed"));
    }

    static void run(String name, Work work) throws Exception {
        sum = 0;
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> {
                try {
                    for (int round = 0; round < ROUNDS; round++) work.run();
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        say(name, sum == (long) THREADS * ROUNDS);
    }

    public static void main(String[] arguments) throws Exception {
        Object monitor = new Object();
        run("synchronized", () -> { synchronized (monitor) { sum++; } });
        for (boolean fair : new boolean[] {false}) {
            ReentrantLock lock = new ReentrantLock(fair);
            run("ReentrantLock", () -> { lock.lock(); try { sum++; } finally { lock.unlock(); } });
        }
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        run("ReentrantReadWriteLock", () -> {
            both.readLock().lock();
            both.readLock().unlock();
            both.writeLock().lock();
            try { sum++; } finally { both.writeLock().unlock(); }
        });
        Semaphore semaphore = new Semaphore(1);
        run("Semaphore", () -> { semaphore.acquire(); sum++; semaphore.release(); });
        StampedLock stamped = new StampedLock();
        run("StampedLock", () -> { long stamp = stamped.writeLock(); sum++; stamped.unlockWrite(stamp); });

        ExecutorService pool = Executors.newFixedThreadPool(4);
        Future<?>[] futures = new Future<?>[200];
        AtomicLong total = new AtomicLong();
        for (int i = 0; i < futures.length; i++) {
            long number = i;
            futures[i] = pool.submit(() -> total.addAndGet(number));
        }
        for (Future<?> future : futures) future.get();
        pool.shutdown();
        say("executor", total.get() == 199 * 100 && pool.awaitTermination(10, TimeUnit.SECONDS));

        ArrayBlockingQueue<Integer> queue = new ArrayBlockingQueue<>(8);
        Thread producer = new Thread(() -> {
            try {
                for (int i = 0; i < 20000; i++) queue.put(i);
            } catch (InterruptedException e) { }
        });
        producer.start();
        long taken = 0;
        for (int i = 0; i < 20000; i++) taken += queue.take();
        producer.join();
        say("queue", taken == 20000L * 19999 / 2);

        Thread waiter = new Thread(() -> {
            synchronized (monitor) {
                try { monitor.wait(); } catch (InterruptedException e) { sum = -1; }
            }
        });
        waiter.start();
        while (waiter.getState() != Thread.State.WAITING) Thread.sleep(1);
        waiter.interrupt();
        waiter.join();
        say("interrupt", sum == -1);

        CyclicBarrier barrier = new CyclicBarrier(4);
        AtomicLong passed = new AtomicLong();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            threads[i] = new Thread(() -> {
                try {
                    for (int round = 0; round < 300; round++) { barrier.await(); passed.incrementAndGet(); }
                } catch (Exception e) { }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        say("barrier", passed.get() == 1200);
        say("stream", LongStream.range(0, 3_000_000).parallel().sum() == 3_000_000L * 2_999_999 / 2);
        try { deep(0); } catch (StackOverflowError e) { say("stack overflow", true); }
        try { Object nothing = null; nothing.hashCode(); } catch (NullPointerException e) { say("null", true); }
        System.exit(3);
    }

    static int deep(int depth) { return deep(depth + 1) + 1; }
}
