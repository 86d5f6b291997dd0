// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.util.Arrays;
import java.util.concurrent.TimeoutException;
import org.eclipse.jetty.http.HttpException;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.util.thread.Invocable;
import org.jspecify.annotations.Nullable;

/**
 * Reads the body of one request as its bytes arrive. No thread waits for a slow sender. Ends
 * exactly once: with the complete body, or with a problem. Thread-safe.
 */
final class BodyReader implements Invocable.Task {
  /**
   * Maximum number of bytes of an oversized body that are read and discarded. Many senders read the
   * response only after they have sent the body.
   */
  private static final int MAX_DISCARDED_BYTES = 1024 * 1024;

  /** Initial buffer size for a body that arrives in pieces; sufficient for a typical check. */
  private static final int FIRST_CAPACITY_BYTES = 256;

  private static final byte[] NOTHING = {};

  private static final Problem STOPPING =
      Problem.of(
          ProblemReason.STOPPING,
          "the node stopped before the body was complete; the call was neither decided nor recorded");

  private static final Problem IDLE =
      Problem.of(
          ProblemReason.REQUEST_TOO_SLOW,
          "no part of the body arrived within the idle timeout; the call was neither"
              + " decided nor recorded");

  /** Receives the result. */
  interface Ended {
    /** The body is complete. */
    void whole(byte[] body);

    /**
     * The body is refused.
     *
     * @param rest whether a part of the request is unread; if true, the connection must be closed
     */
    void refused(Problem problem, boolean rest);

    /** The bound on the bytes of all incomplete bodies is reached. */
    void noMemory();

    /** The body did not arrive in time. */
    void timedOut(Problem problem);
  }

  private final Request request;
  private final int maxBytes;
  private final IncompleteBodies incomplete;
  private final Ended ended;
  private byte[] bytes = NOTHING;
  private int length;
  private int keptBytes;
  private int discardedBytes;
  private boolean tooLarge;
  private boolean done;

  /**
   * Creates a reader. Reading begins with {@link #run}.
   *
   * @param maxBytes maximum size of the body
   */
  BodyReader(Request request, int maxBytes, IncompleteBodies incomplete, Ended ended) {
    this.request = request;
    this.maxBytes = maxBytes;
    this.incomplete = incomplete;
    this.ended = ended;
    this.tooLarge = request.getLength() > maxBytes;
  }

  long beginNanos() {
    return request.getBeginNanoTime();
  }

  Connection connection() {
    return request.getConnectionMetaData().getConnection();
  }

  @Override
  public InvocationType getInvocationType() {
    return InvocationType.NON_BLOCKING;
  }

  /** Reads the available bytes. The server calls this method again when more bytes arrive. */
  @Override
  public synchronized void run() {
    if (tooLarge && request.getHeaders().contains(HttpHeader.EXPECT)) {
      // the sender waits for 100 (Continue) (RFC 9110 §10.1.1) and has sent no part of the body
      end(() -> ended.refused(RequestBody.tooLarge(maxBytes), true));
    }
    while (!done) {
      Content.Chunk chunk = request.read();
      if (chunk == null) {
        await();
        return;
      }
      if (Content.Chunk.isFailure(chunk)) {
        end(() -> tellFailure(chunk.getFailure()));
        return;
      }
      take(chunk);
    }
  }

  private void await() {
    int more = bytes.length - keptBytes;
    if (!incomplete.keep(this, more)) {
      end(ended::noMemory);
      return;
    }
    keptBytes += more;
    if (incomplete.isStopping()) {
      stop(); // this reader was not registered when the node stopped the other readers
    } else {
      request.demand(this);
    }
  }

  private void take(Content.Chunk chunk) {
    boolean last = chunk.isLast();
    int more = chunk.remaining();
    if (tooLarge || length + more > maxBytes) {
      tooLarge = true;
      bytes = NOTHING;
      discardedBytes += more;
    } else if (more > 0) {
      if (length + more > bytes.length) {
        bytes = Arrays.copyOf(bytes, capacity(length + more));
      }
      chunk.getByteBuffer().get(bytes, length, more);
      length += more;
    }
    chunk.release();
    if (tooLarge && (last || discardedBytes >= MAX_DISCARDED_BYTES)) {
      end(() -> ended.refused(RequestBody.tooLarge(maxBytes), !last));
    } else if (last) {
      byte[] body = length == bytes.length ? bytes : Arrays.copyOf(bytes, length);
      end(() -> ended.whole(body));
    }
  }

  /**
   * Returns the capacity of the buffer to allocate. The first piece is usually the complete body.
   * For a later piece, the capacity doubles.
   */
  private int capacity(int needed) {
    if (bytes.length == 0) {
      return needed;
    }
    int doubled = Math.max(FIRST_CAPACITY_BYTES, 2 * bytes.length);
    return Math.min(maxBytes, Math.max(needed, doubled));
  }

  /** Ends the read with a timeout. Has no effect on a read that has ended. */
  synchronized void timeOut() {
    end(() -> ended.timedOut(IncompleteBodies.TOO_SLOW));
  }

  /** Ends the read because the node is stopping. Has no effect on a read that has ended. */
  synchronized void stop() {
    end(() -> ended.refused(STOPPING, true));
  }

  private void end(Runnable notification) {
    if (!done) {
      done = true;
      incomplete.release(this, keptBytes);
      notification.run();
    }
  }

  private void tellFailure(@Nullable Throwable failure) {
    if (incomplete.isStopping()) {
      ended.refused(STOPPING, true);
    } else if (failure instanceof TimeoutException) {
      ended.timedOut(IDLE);
    } else {
      ended.refused(broken(failure), true);
    }
  }

  private static Problem broken(@Nullable Throwable failure) {
    if (failure instanceof HttpException known && known.getReason() != null) {
      return Problem.malformed(known.getCode(), "the body could not be read: " + known.getReason());
    }
    return Problem.of(
        ProblemReason.INVALID_BODY,
        "the body was incomplete or could not be read: "
            + (failure == null || failure.getMessage() == null
                ? "the connection was closed"
                : failure.getMessage()));
  }
}
