// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * A load generator with an open loop: a Poisson process with a fixed rate schedules the calls,
 * independently of earlier responses. The latency of a call begins at its scheduled time. So the
 * generator avoids coordinated omission. With rate 0, each connection sends the next call after the
 * response (closed loop).
 *
 * <p>Runs in a separate process: {@code OpenLoop PORT RATE WARM_UP_SECONDS SECONDS CONNECTIONS}
 * prints one line of {@link LoadFigures}.
 */
final class OpenLoop {
  /** Maximum wait for responses after the last scheduled call. */
  private static final long DRAIN_NANOS = Duration.ofSeconds(3).toNanos();

  /** Time between the start of the full rate and the first measured call. */
  private static final long SETTLE_NANOS = Duration.ofSeconds(1).toNanos();

  /** Divisor of the rate during the warm-up. */
  private static final double WARM_UP_GAPS = 4;

  /** If the next scheduled call is at least this far away, the generator waits in the selector. */
  private static final long LONG_NANOS = 2_000_000;

  /** Maximum time between two polls for responses. */
  private static final long SHORT_NANOS = 50_000;

  private static final int WARM_UP_SECONDS = 3;
  private static final int SEED = 20_261_121;
  private static final int CONNECTED_AT_ONCE = 200;

  private final Random random = new Random(SEED);
  private final Selector selector = Selector.open();
  private final Queue<Long> due = new ArrayDeque<>();
  private final Queue<LoadConnection> idle = new ArrayDeque<>();
  private final Set<LoadConnection> busy = new HashSet<>();
  private final InetSocketAddress node;
  private final double meanGapNanos;
  private final LoadFigures figures;
  private final boolean closed;
  private long steadyNanos;
  private long beginNanos;
  private long endNanos;
  private double nextNanos;
  private long calls;

  private OpenLoop(int port, double callsPerSecond, long lengthNanos) throws IOException {
    this.node = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    this.closed = callsPerSecond == 0;
    this.meanGapNanos = closed ? 0 : 1e9 / callsPerSecond;
    this.figures = new LoadFigures(lengthNanos);
  }

  /**
   * Runs one load in a separate process, and returns its results.
   *
   * @param callsPerSecond the rate; 0 for a closed loop
   */
  static String inAProcess(int port, double callsPerSecond, Duration length, int connections)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                "-cp",
                System.getProperty("java.class.path"),
                OpenLoop.class.getName(),
                Integer.toString(port),
                Double.toString(callsPerSecond),
                Integer.toString(WARM_UP_SECONDS),
                Long.toString(length.toSeconds()),
                Integer.toString(connections))
            .redirectErrorStream(true)
            .start();
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return text.strip();
  }

  /** Runs one load and prints its results. */
  public static void main(String[] arguments) throws IOException {
    long warmUpNanos = Duration.ofSeconds(Long.parseLong(arguments[2])).toNanos();
    long lengthNanos = Duration.ofSeconds(Long.parseLong(arguments[3])).toNanos();
    OpenLoop loop =
        new OpenLoop(Integer.parseInt(arguments[0]), Double.parseDouble(arguments[1]), lengthNanos);
    loop.connect(Integer.parseInt(arguments[4]));
    loop.begin(warmUpNanos, lengthNanos);
    loop.run();
    System.out.println(loop.figures.toLine());
  }

  private void connect(int connections) throws IOException {
    for (int i = 0; i < connections; i++) {
      LoadConnection connection = new LoadConnection(selector, node);
      idle.add(connection);
      if (i % CONNECTED_AT_ONCE == 0) {
        connection.finishConnecting();
      }
    }
    for (LoadConnection connection : idle) {
      connection.finishConnecting();
    }
  }

  /**
   * Begins the schedule when all connections are open. The rate is low at first, to warm the
   * generator up.
   */
  private void begin(long warmUpNanos, long lengthNanos) {
    long now = System.nanoTime();
    nextNanos = now;
    steadyNanos = now + warmUpNanos;
    beginNanos = steadyNanos + SETTLE_NANOS;
    endNanos = beginNanos + lengthNanos;
  }

  private void run() throws IOException {
    long now = System.nanoTime();
    while (now < endNanos || (!busy.isEmpty() && now < endNanos + DRAIN_NANOS)) {
      if (now < endNanos) {
        callsDueBy(now);
      }
      while (!due.isEmpty() && !idle.isEmpty()) {
        send(usable(idle.remove()), due.remove());
      }
      await(now);
      answers();
      now = System.nanoTime();
    }
    for (long intended : due) {
      unanswered(intended, now);
    }
    for (LoadConnection connection : busy) {
      unanswered(connection.intendedNanos(), now);
    }
  }

  /**
   * Waits until the next event. This method does not spin, because a spinning thread would take a
   * core from the node.
   */
  private void await(long now) throws IOException {
    long leftNanos = (long) nextNanos - now;
    if (closed || leftNanos >= LONG_NANOS || !due.isEmpty()) {
      selector.select(1);
    } else {
      LockSupport.parkNanos(Math.min(leftNanos, SHORT_NANOS));
      selector.selectNow();
    }
  }

  private void callsDueBy(long now) {
    if (closed) {
      for (int i = idle.size(); i > 0; i--) {
        due.add(now);
      }
      return;
    }
    while (nextNanos <= now) {
      due.add((long) nextNanos);
      double mean = nextNanos < steadyNanos ? WARM_UP_GAPS * meanGapNanos : meanGapNanos;
      nextNanos += -mean * Math.log(1 - random.nextDouble());
    }
  }

  /**
   * Returns the connection if it is open, otherwise a new connection. The node closes idle
   * connections.
   */
  private LoadConnection usable(LoadConnection connection) throws IOException {
    if (connection.isOpen()) {
      return connection;
    }
    LoadConnection other = new LoadConnection(selector, node);
    other.finishConnecting();
    return other;
  }

  private void send(LoadConnection connection, long intendedNanos) throws IOException {
    busy.add(connection);
    connection.send(calls++, intendedNanos);
  }

  private void answers() throws IOException {
    for (SelectionKey key : selector.selectedKeys()) {
      LoadConnection connection = (LoadConnection) key.attachment();
      int status = connection.read();
      if (status == LoadConnection.NOT_YET || !busy.remove(connection)) {
        continue;
      }
      long intended = connection.intendedNanos();
      if (isMeasured(intended)) {
        figures.answered(status, System.nanoTime() - intended);
      }
      idle.add(connection);
    }
    selector.selectedKeys().clear();
  }

  private void unanswered(long intendedNanos, long now) {
    if (isMeasured(intendedNanos)) {
      figures.unanswered(now - intendedNanos);
    }
  }

  private boolean isMeasured(long intendedNanos) {
    return intendedNanos >= beginNanos && intendedNanos < endNanos;
  }
}
