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
 * Bounds what requests hold that have begun and are not whole, of all connections together: one
 * that is not whole in time is cancelled, and so are the oldest ones while all of them hold too
 * much. A request is whole when its caller has ended it and a thread has taken it up; of a stream
 * of requests, each message is looked at by itself. Thread-safe.
 */
final class UnfinishedRequests extends ServerStreamTracer.Factory
    implements ServerInterceptor, AutoCloseable {
  /** What a request is taken to hold before its first byte: its metadata, and its stream. */
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
   * Begins to look after requests.
   *
   * @param limit how long a request may take until it is whole
   * @param maxBytes most bytes of all requests that are not whole
   */
  static UnfinishedRequests start(Duration limit, long maxBytes) {
    UnfinishedRequests started = new UnfinishedRequests(limit, maxBytes);
    long interval = Math.max(1, limit.toMillis() / 10);
    var unused =
        started.clock.scheduleWithFixedDelay(
            started::endLateOnes, interval, interval, TimeUnit.MILLISECONDS);
    return started;
  }

  /** A request, from its first byte; the library calls it in the order of what arrives. */
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
        // the library ends the streams of calls whose time is over, and of no others
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
      oldest.getValue().cancel("requests that are not whole hold too much; this was the oldest");
    }
  }

  private void endLateOnes() {
    long now = System.nanoTime();
    for (Unfinished request : requests.values()) {
      if (request.isWaitedFor && now - request.sinceNanos > limit.toNanos()) {
        request.cancel("the request was not whole in time");
      }
    }
  }

  @Override
  public <Q, A> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
    Unfinished request = KEY.get();
    if (request == null) {
      throw new IllegalStateException("the server must be given this as a tracer, too");
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
