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
 * Calls that come by a schedule, whatever becomes of those before (an open loop): by a Poisson
 * process of a fixed rate. The latency of a call counts from when it was due, so a call that waits
 * for a free connection, or that this generator was late to send, is not made to look fast
 * (coordinated omission). With rate 0 each connection calls again as soon as it is answered (a
 * closed loop).
 *
 * <p>Runs in a process of its own: {@code OpenLoop PORT RATE WARM_UP_SECONDS SECONDS CONNECTIONS}
 * prints one line of {@link LoadFigures}.
 */
final class OpenLoop {
  /** How long answers are waited for after the last call was due. */
  private static final long DRAIN_NANOS = Duration.ofSeconds(3).toNanos();

  /** Between the full rate and the first call that is measured. */
  private static final long SETTLE_NANOS = Duration.ofSeconds(1).toNanos();

  /** While warming up, calls come so much more seldom. */
  private static final double WARM_UP_GAPS = 4;

  /** Until a call that is due no sooner, the selector may wait for its shortest time. */
  private static final long LONG_NANOS = 2_000_000;

  /** How long answers are not looked for at the most. */
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
   * Runs one load in a process of its own, and returns what it saw.
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

  /** Runs one load and prints what it saw. */
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

  /** The schedule begins once all are connected, gently, so that the generator is warm, too. */
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

  /** To spin would take a core from the node; what comes late is counted from when it was due. */
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

  /** The node ends connections that are idle for long. */
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
