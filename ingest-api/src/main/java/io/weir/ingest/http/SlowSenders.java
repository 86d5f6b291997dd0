// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import io.weir.topics.process.SupervisedThread;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Callback;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends with 408 the requests that are not read completely within {@link #READ_LIMIT} of their first
 * byte. An idle timeout cannot do this: it never expires while a byte arrives each second.
 *
 * <p>A request whose header fields are still arriving has no handler yet, so connections are
 * searched for such requests, and the answer is written to the connection itself.
 */
final class SlowSenders implements SupervisedThread.Work, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SlowSenders.class);

  /** Enough for a slow network; a check is one packet. */
  static final Duration READ_LIMIT = Duration.ofSeconds(10);

  static final Problem TOO_SLOW =
      Problem.of(
          ProblemReason.REQUEST_TOO_SLOW,
          "the request was not whole within "
              + READ_LIMIT.toSeconds()
              + " s; it was neither decided nor recorded");

  private static final long BETWEEN_LOOKS_MILLIS = 500;

  private final SupervisedThread thread = new SupervisedThread("weir-slow-senders", this);
  private final Server server;
  private final IncompleteBodies bodies;
  private final HttpStatistics statistics;
  private Map<EndPoint, ArrivingHead> heads = Map.of();

  SlowSenders(Server server, IncompleteBodies bodies, HttpStatistics statistics) {
    this.server = server;
    this.bodies = bodies;
    this.statistics = statistics;
  }

  void start() {
    thread.start();
  }

  @Override
  public void run() {
    thread.pause(BETWEEN_LOOKS_MILLIS);
    look();
  }

  @Override
  public long failed(Throwable failure) {
    LOG.warn("slow_senders_failed", failure);
    return 0; // the next look has a pause of its own
  }

  /** Nothing blocks but the pause, which ends by itself. */
  @Override
  public void wakeUp(Thread worker) {}

  private void look() {
    long now = System.nanoTime();
    long before = now - READ_LIMIT.toNanos();
    bodies.endThoseBefore(before);
    Set<Connection> withBody = bodies.connections();
    Map<EndPoint, ArrivingHead> seen = new HashMap<>();
    for (Connector connector : server.getConnectors()) {
      for (EndPoint endPoint : connector.getConnectedEndPoints()) {
        ArrivingHead known = heads.get(endPoint);
        ArrivingHead head = known == null ? new ArrivingHead() : known;
        Connection connection = endPoint.getConnection();
        head.look(
            connection.getBytesIn(),
            connection.getMessagesIn(),
            connection.getMessagesOut(),
            withBody.contains(connection),
            now);
        if (head.since(before)) {
          end(endPoint);
        } else {
          seen.put(endPoint, head);
        }
      }
    }
    heads = seen;
  }

  private void end(EndPoint endPoint) {
    statistics.timedOut(HttpStatistics.Part.HEADERS).increment();
    try {
      endPoint.write(
          Callback.from(endPoint::close, endPoint::close),
          ByteBuffer.wrap(ProblemWriter.message(TOO_SLOW)));
    } catch (RuntimeException answeredMeanwhile) {
      endPoint.close(answeredMeanwhile);
    }
  }

  @Override
  public void close() {
    thread.close();
  }
}
