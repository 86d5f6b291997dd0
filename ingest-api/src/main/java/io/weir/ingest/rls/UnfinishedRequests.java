// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import io.grpc.Context;
import io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerStreamTracer;
import io.grpc.Status;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Bounds the memory of the incomplete requests of all connections. This class cancels a request
 * that does not arrive in time. While the total size of incomplete requests exceeds the maximum,
 * this class cancels the oldest of these requests. A request is complete when the caller has sent
 * the whole request and a thread has begun to process it. In a stream of requests each message
 * counts separately. Thread-safe.
 */
final class UnfinishedRequests extends ServerStreamTracer.Factory
    implements ServerInterceptor, AutoCloseable {
  /** Assumed size in bytes of a request's metadata and stream. */
  static final int BYTES_OF_METADATA = 8 * 1024;

  private static final Context.Key<Unfinished> KEY = Context.key("weir-unfinished-request");

  private final ConcurrentSkipListMap<Long, Unfinished> requests = new ConcurrentSkipListMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private final AtomicLong bytes = new AtomicLong();
  private final Duration limit;
  private final long maxBytes;
  private final ScheduledExecutorService clock =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "weir-grpc-unfinished");
            thread.setDaemon(true);
            return thread;
          });

  private UnfinishedRequests(Duration limit, long maxBytes) {
    this.limit = limit;
    this.maxBytes = maxBytes;
  }

  /**
   * Creates an object and begins to cancel late requests.
   *
   * @param limit time within which a request must arrive completely
   * @param maxBytes maximum number of bytes of all incomplete requests
   */
  static UnfinishedRequests start(Duration limit, long maxBytes) {
    UnfinishedRequests started = new UnfinishedRequests(limit, maxBytes);
    long interval = Math.max(1, limit.toMillis() / 10);
    var unused =
        started.clock.scheduleWithFixedDelay(
            started::endLateOnes, interval, interval, TimeUnit.MILLISECONDS);
    return started;
  }

  /** The tracer of one request, which counts the bytes of the request. */
  private final class Unfinished extends ServerStreamTracer {
    private final long number = numbers.incrementAndGet();
    private final AtomicLong held = new AtomicLong();
    private volatile long sinceNanos = System.nanoTime();
    private volatile boolean isWaitedFor = true;
    private volatile boolean isStream;
    private volatile Context.@Nullable CancellableContext context;

    @Override
    public Context filterContext(Context outer) {
      Context.CancellableContext own = outer.withValue(KEY, this).withCancellation();
      context = own;
      return own;
    }

    @Override
    public void inboundMessage(int sequence) {
      if (isStream) {
        sinceNanos = System.nanoTime();
        isWaitedFor = true;
      }
    }

    @Override
    public void inboundWireSize(long size) {
      hold(this, size);
    }

    @Override
    public void inboundMessageRead(int sequence, long wireSize, long uncompressedSize) {
      if (isStream) {
        isWaitedFor = false;
        release();
      }
    }

    @Override
    public void streamClosed(Status status) {
      end();
    }

    void beStream() {
      isStream = true;
      isWaitedFor = false;
    }

    void end() {
      requests.remove(number);
      release();
    }

    private void release() {
      bytes.addAndGet(-held.getAndSet(0));
    }

    void cancel(String why) {
      end();
      Context.CancellableContext cancelled = context;
      if (cancelled != null) {
        // the library closes a stream only if the cause of the cancellation is a timeout
        cancelled.cancel(new TimeoutException(why));
      }
    }
  }

  @Override
  public ServerStreamTracer newServerStreamTracer(String method, Metadata headers) {
    Unfinished request = new Unfinished();
    requests.put(request.number, request);
    hold(request, BYTES_OF_METADATA);
    return request;
  }

  private void hold(Unfinished request, long size) {
    request.held.addAndGet(size);
    if (bytes.addAndGet(size) <= maxBytes) {
      return;
    }
    while (bytes.get() > maxBytes) {
      Map.Entry<Long, Unfinished> oldest = requests.firstEntry();
      if (oldest == null) {
        return;
      }
      oldest
          .getValue()
          .cancel(
              "incomplete requests exceeded their memory limit, and this request was the oldest");
    }
  }

  private void endLateOnes() {
    long now = System.nanoTime();
    for (Unfinished request : requests.values()) {
      if (request.isWaitedFor && now - request.sinceNanos > limit.toNanos()) {
        request.cancel("the request did not arrive completely in time");
      }
    }
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Unfinished request = KEY.get();
    if (request == null) {
      throw new IllegalStateException(
          "this interceptor must also be registered as a stream tracer factory of the server");
    }
    if (!call.getMethodDescriptor().getType().clientSendsOneMessage()) {
      request.beStream();
    }
    return new SimpleForwardingServerCallListener<>(next.startCall(call, headers)) {
      @Override
      public void onHalfClose() {
        request.end();
        super.onHalfClose();
      }
    };
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }
}
