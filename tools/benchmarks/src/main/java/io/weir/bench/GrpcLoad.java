// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * Sends calls to Envoy's rate limit service, with a constant number of calls in progress. All calls
 * use one HTTP/2 connection, as Envoy's calls do.
 */
final class GrpcLoad {
  private static final int CLIENTS = 10_000;
  private static final String DOMAIN = "bench";

  private final int port;
  private final int inFlight;

  GrpcLoad(int port, int inFlight) {
    this.port = port;
    this.inFlight = inFlight;
  }

  /**
   * The result of a measurement.
   *
   * @param latencies latencies in nanoseconds
   * @param failed number of calls that ended in an error or were denied
   */
  record Figures(long calls, double seconds, Histogram latencies, long failed) {}

  /** Sends calls to the service for the given time. */
  Figures run(Duration length) throws InterruptedException {
    ManagedChannel channel =
        NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().directExecutor().build();
    try {
      Run run =
          new Run(RateLimitServiceGrpc.newStub(channel), System.nanoTime() + length.toNanos());
      long begun = System.nanoTime();
      for (int i = 0; i < inFlight; i++) {
        run.call();
      }
      run.ended.await();
      double seconds = (System.nanoTime() - begun) / 1e9;
      Histogram latencies = run.latencies.getIntervalHistogram();
      return new Figures(latencies.getTotalCount(), seconds, latencies, run.failed.get());
    } finally {
      channel.shutdownNow();
    }
  }

  private static RateLimitRequest request() {
    String client = "c" + ThreadLocalRandom.current().nextInt(CLIENTS);
    return RateLimitRequest.newBuilder()
        .setDomain(DOMAIN)
        .addDescriptors(
            RateLimitDescriptor.newBuilder()
                .addEntries(
                    RateLimitDescriptor.Entry.newBuilder().setKey("user_id").setValue(client)))
        .build();
  }

  /** The calls of one run. */
  private final class Run {
    private final RateLimitServiceGrpc.RateLimitServiceStub stub;
    private final long endNanos;
    private final Recorder latencies = new Recorder(3);
    private final AtomicLong failed = new AtomicLong();
    private final CountDownLatch ended = new CountDownLatch(inFlight);

    Run(RateLimitServiceGrpc.RateLimitServiceStub stub, long endNanos) {
      this.stub = stub;
      this.endNanos = endNanos;
    }

    void call() {
      long begun = System.nanoTime();
      if (begun >= endNanos) {
        ended.countDown();
        return;
      }
      stub.shouldRateLimit(
          request(),
          new StreamObserver<>() {
            @Override
            public void onNext(RateLimitResponse response) {
              if (response.getOverallCode() != RateLimitResponse.Code.OK) {
                failed.incrementAndGet();
              }
            }

            @Override
            public void onError(Throwable error) {
              failed.incrementAndGet();
              onCompleted();
            }

            @Override
            public void onCompleted() {
              latencies.recordValue(System.nanoTime() - begun);
              call();
            }
          });
    }
  }
}
