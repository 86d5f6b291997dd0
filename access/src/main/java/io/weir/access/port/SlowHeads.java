// SPDX-License-Identifier: Apache-2.0
package io.weir.access.port;

import io.weir.topics.process.SupervisedThread;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import javax.net.ssl.SSLSession;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.io.ssl.SslConnection;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.Callback;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends requests with header fields that do not arrive completely within {@link #READ_LIMIT} after
 * their first byte. An idle timeout cannot do this: it never expires while a byte arrives each
 * second. Thread-safe.
 *
 * <p>A request with incomplete header fields has no handler yet. This class therefore searches the
 * connections for such requests, and writes the response to the connection itself.
 */
public final class SlowHeads implements SupervisedThread.Work, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SlowHeads.class);

  /** Maximum time for the arrival of a request: enough for a slow network. */
  public static final Duration READ_LIMIT = Duration.ofSeconds(10);

  private static final long BETWEEN_LOOKS_MILLIS = 500;

  /** The cipher suite that {@link SSLSession} reports before the end of the handshake. */
  private static final String NO_SUITE = "SSL_NULL_WITH_NULL_NULL";

  private final SupervisedThread thread = new SupervisedThread("weir-slow-senders", this);
  private final Server server;
  private final Bodies bodies;
  private final Supplier<byte[]> answer;
  private final Runnable onTimedOut;
  private Map<Connection, ArrivingHead> heads = Map.of();

  /** The bodies that are arriving at a server. */
  public interface Bodies {
    /** No bodies. */
    Bodies NONE =
        new Bodies() {
          @Override
          public void endThoseBefore(long beginNanos) {}

          @Override
          public Set<Connection> connections() {
            return Set.of();
          }
        };

    /**
     * Ends requests that began before a time.
     *
     * @param beginNanos the time, by {@link System#nanoTime}
     */
    void endThoseBefore(long beginNanos);

    /** Returns the connections on which a body is arriving. */
    Set<Connection> connections();
  }

  /**
   * Creates a watch, which {@link #start} starts.
   *
   * @param server the server whose connections are watched
   * @param bodies the bodies that are arriving
   * @param answer returns a complete HTTP/1.1 message, which is sent before the connection is
   *     closed
   * @param onTimedOut called for each request that is ended
   */
  public SlowHeads(Server server, Bodies bodies, Supplier<byte[]> answer, Runnable onTimedOut) {
    this.server = server;
    this.bodies = bodies;
    this.answer = answer;
    this.onTimedOut = onTimedOut;
  }

  /** Starts the thread that looks at the connections. */
  public void start() {
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

  /** Does nothing: only the pause blocks, and it ends by itself. */
  @Override
  public void wakeUp(Thread worker) {}

  private void look() {
    long now = System.nanoTime();
    long before = now - READ_LIMIT.toNanos();
    bodies.endThoseBefore(before);
    Set<Connection> withBody = bodies.connections();
    Map<Connection, ArrivingHead> seen = new HashMap<>();
    for (Connector connector : server.getConnectors()) {
      for (EndPoint endPoint : connector.getConnectedEndPoints()) {
        Connection connection = receiving(endPoint);
        ArrivingHead known = heads.get(connection);
        ArrivingHead head = known == null ? new ArrivingHead() : known;
        head.look(
            connection.getBytesIn(),
            connection.getMessagesIn(),
            connection.getMessagesOut(),
            withBody.contains(connection),
            now);
        if (head.since(before)) {
          end(endPoint, connection);
        } else {
          seen.put(connection, head);
        }
      }
    }
    heads = seen;
  }

  /**
   * Returns the connection that receives requests. With TLS, it is the connection inside TLS, since
   * the outer connection counts no requests. Until the handshake has ended, it is the outer
   * connection, so the handshake must also arrive in time.
   */
  private static Connection receiving(EndPoint endPoint) {
    Connection connection = endPoint.getConnection();
    if (connection instanceof SslConnection tls
        && !NO_SUITE.equals(tls.getSSLEngine().getSession().getCipherSuite())) {
      return tls.getSslEndPoint().getConnection();
    }
    return connection;
  }

  private void end(EndPoint endPoint, Connection connection) {
    onTimedOut.run();
    if (connection instanceof SslConnection) {
      endPoint.close(); // a handshake has no answer
      return;
    }
    EndPoint sending = connection.getEndPoint();
    try {
      sending.write(Callback.from(sending::close, sending::close), ByteBuffer.wrap(answer.get()));
    } catch (RuntimeException answeredMeanwhile) {
      sending.close(answeredMeanwhile);
    }
  }

  @Override
  public void close() {
    thread.close();
  }
}
