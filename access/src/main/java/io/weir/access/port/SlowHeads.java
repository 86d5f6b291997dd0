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
 * Ends requests whose header fields do not arrive completely within {@link #READ_LIMIT} after their
 * first byte. An idle timeout does not end a request whose bytes arrive one per second.
 * Thread-safe.
 *
 * <p>Jetty calls no handler while header fields are incomplete. This class therefore searches the
 * connections for such requests, and itself writes the response to the connection.
 */
public final class SlowHeads implements SupervisedThread.Work, AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(SlowHeads.class);

  /** Maximum time for the arrival of a request: 10 s. This time is enough for a slow network. */
  public static final Duration READ_LIMIT = Duration.ofSeconds(10);

  private static final long BETWEEN_LOOKS_MILLIS = 500;

  /** Cipher suite that {@link SSLSession} returns before the end of the handshake. */
  private static final String NO_SUITE = "SSL_NULL_WITH_NULL_NULL";

  private final SupervisedThread thread = new SupervisedThread("weir-slow-senders", this);
  private final Server server;
  private final Bodies bodies;
  private final Supplier<byte[]> answer;
  private final Runnable onTimedOut;
  private Map<Connection, ArrivingHead> heads = Map.of();

  /** The request bodies that are arriving at a server. */
  public interface Bodies {
    /** An instance without bodies. */
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
     * Ends the requests that began before the given time.
     *
     * @param beginNanos the time, by {@link System#nanoTime}
     */
    void endThoseBefore(long beginNanos);

    /** Returns the connections on which a body is arriving. */
    Set<Connection> connections();
  }

  /**
   * Creates an instance. {@link #start} starts its thread.
   *
   * @param server the server whose connections the thread checks
   * @param bodies the bodies that are arriving
   * @param answer supplier of the complete HTTP/1.1 response that is sent before the connection is
   *     closed
   * @param onTimedOut action that runs for each ended request
   */
  public SlowHeads(Server server, Bodies bodies, Supplier<byte[]> answer, Runnable onTimedOut) {
    this.server = server;
    this.bodies = bodies;
    this.answer = answer;
    this.onTimedOut = onTimedOut;
  }

  /** Starts the thread that checks the connections. */
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
    return 0; // the next round begins with a pause
  }

  /** Does nothing: only the pause blocks, and the pause ends when the thread is closed. */
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
   * Returns the connection whose counters include requests. With TLS, the result is the connection
   * inside TLS; during the handshake, the outer connection, so the time limit also applies to the
   * handshake.
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
      endPoint.close(); // during a handshake, no response can be sent
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
