// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.HealthStatusManager;
import io.weir.testing.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class UnfinishedRequestsTest {
  private static final int BIG = 200_000;

  /** The method as a client's that sends each part at once, not the whole when it has ended. */
  private static final MethodDescriptor<HealthCheckRequest, HealthCheckResponse> IN_PARTS =
      HealthGrpc.getCheckMethod().toBuilder()
          .setType(MethodDescriptor.MethodType.BIDI_STREAMING)
          .build();

  /** A call that is begun, and perhaps never ended. */
  private static final class Begun extends ClientCall.Listener<HealthCheckResponse> {
    private final CompletableFuture<Status> closed = new CompletableFuture<>();
    private final ClientCall<HealthCheckRequest, HealthCheckResponse> call;

    Begun(ManagedChannel channel) {
      call = channel.newCall(IN_PARTS, CallOptions.DEFAULT);
      call.start(this, new Metadata());
      call.request(2);
    }

    Begun send(int size) {
      UnknownFieldSet.Field bytes =
          UnknownFieldSet.Field.newBuilder()
              .addLengthDelimited(ByteString.copyFrom(new byte[size]))
              .build();
      call.sendMessage(
          HealthCheckRequest.newBuilder()
              .setUnknownFields(UnknownFieldSet.newBuilder().addField(9, bytes).build())
              .build());
      return this;
    }

    @Override
    public void onClose(Status status, Metadata trailers) {
      closed.complete(status);
    }

    Status.Code code() throws Exception {
      return closed.get(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS).getCode();
    }
  }

  private interface Steps {
    void run(ManagedChannel channel, HealthStatusManager health) throws Exception;
  }

  private static void with(UnfinishedRequests unfinished, Steps steps) throws Exception {
    HealthStatusManager health = new HealthStatusManager();
    InetAddress here = InetAddress.getLoopbackAddress();
    Server server =
        NettyServerBuilder.forAddress(new InetSocketAddress(here, 0))
            .addStreamTracerFactory(unfinished)
            .intercept(unfinished)
            .addService(health.getHealthService())
            .build()
            .start();
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(new InetSocketAddress(here, server.getPort()))
            .usePlaintext()
            .build();
    try (unfinished) {
      steps.run(channel, health);
    } finally {
      channel.shutdownNow();
      server.shutdownNow();
      assertTrue(server.awaitTermination(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS));
    }
  }

  @Test
  void requestThatIsNeverWhole_isCancelled() throws Exception {
    with(
        UnfinishedRequests.start(Duration.ofMillis(200), 10 * BIG),
        (channel, health) -> {
          Begun withoutAMessage = new Begun(channel);
          Begun withoutAnEnd = new Begun(channel).send(10);

          assertEquals(Status.Code.CANCELLED, withoutAMessage.code());
          assertEquals(Status.Code.CANCELLED, withoutAnEnd.code());
        });
  }

  @Test
  void watchedHealth_isWhole_andMayLast() throws Exception {
    with(
        UnfinishedRequests.start(Duration.ofSeconds(5), 10 * BIG),
        (channel, health) -> {
          var answers =
              HealthGrpc.newBlockingStub(channel).watch(HealthCheckRequest.getDefaultInstance());
          assertEquals(ServingStatus.SERVING, answers.next().getStatus());
          // one that begins later is late by then
          assertEquals(Status.Code.CANCELLED, new Begun(channel).code());

          health.setStatus("", ServingStatus.NOT_SERVING);
          assertEquals(ServingStatus.NOT_SERVING, answers.next().getStatus());
        });
  }

  @Test
  void requestsThatHoldTooMuch_endFromTheOldestOn_andTheNewestIsServed() throws Exception {
    with(
        UnfinishedRequests.start(Duration.ofMinutes(10), 3 * BIG),
        (channel, health) -> {
          Begun oldest = new Begun(channel).send(BIG);
          Begun older = new Begun(channel).send(BIG);
          new Begun(channel).send(BIG);
          Begun newest = new Begun(channel).send(BIG);
          newest.call.halfClose();

          assertEquals(Status.Code.CANCELLED, oldest.code());
          assertEquals(Status.Code.OK, newest.code());
          // served requests are no longer counted
          Begun last = new Begun(channel).send(10);
          last.call.halfClose();
          assertEquals(Status.Code.OK, last.code());
          older.call.cancel("the test is over", null);
        });
  }
}
