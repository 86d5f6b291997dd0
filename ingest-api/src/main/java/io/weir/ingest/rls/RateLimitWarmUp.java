// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import com.google.protobuf.UInt64Value;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc.RateLimitServiceBlockingStub;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends peeks to the gRPC port of a starting node until the JVM has loaded the code that handles
 * calls. Without these peeks, the first call would take some tenths of a second, but Envoy waits
 * only 20 ms. Peeks take no tokens, and the node does not record them. A failed peek has no effect
 * on the node.
 */
public final class RateLimitWarmUp {
  private static final Logger LOG = LoggerFactory.getLogger(RateLimitWarmUp.class);

  /**
   * Number of peeks. The first few peeks load the code, and the others let the compiler find hot
   * code.
   */
  private static final int PEEKS = 200;

  private static final Duration LIMIT = Duration.ofSeconds(2);

  private static final RateLimitRequest PEEK =
      RateLimitRequest.newBuilder()
          .setDomain("weir-warm-up")
          .addDescriptors(
              RateLimitDescriptor.newBuilder()
                  .addEntries(
                      RateLimitDescriptor.Entry.newBuilder()
                          .setKey("generic_key")
                          .setValue("weir-warm-up"))
                  .setHitsAddend(UInt64Value.of(0)))
          .build();

  private RateLimitWarmUp() {}

  /**
   * Sends {@value #PEEKS} peeks, or fewer if they take longer than two seconds.
   *
   * @param tls whether the port uses TLS; if so, this method sends nothing, because the certificate
   *     may be invalid for the address
   * @param token the token of this process
   */
  public static void run(String boundHost, int port, boolean tls, String token) {
    if (tls) {
      return;
    }
    InetAddress address;
    try {
      InetAddress bound = InetAddress.getByName(boundHost);
      address = bound.isAnyLocalAddress() ? InetAddress.getLoopbackAddress() : bound;
    } catch (UnknownHostException unknown) {
      LOG.debug("grpc_warm_up_ended", unknown);
      return;
    }
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(new InetSocketAddress(address, port))
            .usePlaintext()
            .proxyDetector(target -> null)
            .build();
    long end = System.nanoTime() + LIMIT.toNanos();
    try {
      RateLimitServiceBlockingStub service =
          RateLimitServiceGrpc.newBlockingStub(channel)
              .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
      for (int peek = 0; peek < PEEKS && System.nanoTime() < end; peek++) {
        var unused =
            service
                .withDeadlineAfter(LIMIT.toMillis(), TimeUnit.MILLISECONDS)
                .shouldRateLimit(PEEK);
      }
    } catch (StatusRuntimeException failed) {
      LOG.debug("grpc_warm_up_ended", failed);
    } finally {
      channel.shutdownNow();
    }
  }
}
