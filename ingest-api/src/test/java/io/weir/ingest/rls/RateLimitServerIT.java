// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static io.weir.ingest.rls.Requests.descriptor;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.reflection.v1.ServiceResponse;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.ingest.IngestStartException;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.servers.testing.CallerIssuer;
import io.weir.servers.testing.TestCertificates;
import io.weir.testing.Await;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The gRPC port except the rate limit service: health, reflection, tokens, TLS and the stop. */
final class RateLimitServerIT {
  private static final String NO_POLICIES = "policies: []\n";
  private static final String TOKEN = "weirt_gateway";
  private static final String READER = "weirt_reader";

  @TempDir private Path folder;

  /** Stores the messages of a stream. */
  private static final class Received<T> implements StreamObserver<T> {
    private final BlockingQueue<T> values = new LinkedBlockingQueue<>();
    private final BlockingQueue<Throwable> failures = new LinkedBlockingQueue<>();

    @Override
    public void onNext(T value) {
      values.add(value);
    }

    @Override
    public void onError(Throwable failed) {
      failures.add(failed);
    }

    @Override
    public void onCompleted() {}

    T next() throws InterruptedException {
      T value = values.poll(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      if (value == null) {
        throw new AssertionError("nothing came; failures " + failures);
      }
      return value;
    }
  }

  private static ServingStatus health(ManagedChannel channel, String service) {
    return HealthGrpc.newBlockingStub(channel)
        .withDeadlineAfter(30, TimeUnit.SECONDS)
        .check(HealthCheckRequest.newBuilder().setService(service).build())
        .getStatus();
  }

  @Test
  void health_isThatOfReadiness_andEndsWithTheNode() throws Exception {
    RateLimitNode node = RateLimitNode.start(folder, NO_POLICIES, Map.of());
    Received<HealthCheckResponse> watched = new Received<>();
    try {
      ManagedChannel channel = node.connect();
      Await.until("the node to be ready", () -> health(channel, "") == ServingStatus.SERVING);
      assertEquals(ServingStatus.SERVING, health(channel, RateLimitServiceGrpc.SERVICE_NAME));
      HealthGrpc.newStub(channel).watch(HealthCheckRequest.getDefaultInstance(), watched);
      assertEquals(ServingStatus.SERVING, watched.next().getStatus());
      assertEquals(
          Status.Code.NOT_FOUND,
          assertThrows(StatusRuntimeException.class, () -> health(channel, "other"))
              .getStatus()
              .getCode());

      node.ingest.close();

      assertEquals(ServingStatus.NOT_SERVING, watched.next().getStatus());
      assertEquals(
          Status.Code.UNAVAILABLE,
          assertThrows(
                  StatusRuntimeException.class,
                  () -> node.patient().shouldRateLimit(Requests.of(descriptor("a", "b"))))
              .getStatus()
              .getCode());
    } finally {
      node.close();
    }
  }

  @Test
  void reflection_tellsTheServices_andTheirMessages() throws Exception {
    try (RateLimitNode node = RateLimitNode.start(folder, NO_POLICIES, Map.of())) {
      Received<ServerReflectionResponse> received = new Received<>();
      StreamObserver<ServerReflectionRequest> asking =
          ServerReflectionGrpc.newStub(node.connect()).serverReflectionInfo(received);

      asking.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
      Set<String> services =
          received.next().getListServicesResponse().getServiceList().stream()
              .map(ServiceResponse::getName)
              .collect(Collectors.toSet());
      assertTrue(
          services.containsAll(Set.of(RateLimitServiceGrpc.SERVICE_NAME, HealthGrpc.SERVICE_NAME)),
          services::toString);

      asking.onNext(
          ServerReflectionRequest.newBuilder()
              .setFileContainingSymbol(RateLimitServiceGrpc.SERVICE_NAME)
              .build());
      List<String> files =
          received.next().getFileDescriptorResponse().getFileDescriptorProtoList().stream()
              .map(RateLimitServerIT::nameOf)
              .toList();
      assertTrue(files.contains("envoy/service/ratelimit/v3/rls.proto"), files::toString);
      assertTrue(
          files.contains("envoy/extensions/common/ratelimit/v3/ratelimit.proto"), files::toString);
      asking.onCompleted();
    }
  }

  private static String nameOf(com.google.protobuf.ByteString file) {
    try {
      return FileDescriptorProto.parseFrom(file).getName();
    } catch (com.google.protobuf.InvalidProtocolBufferException malformed) {
      throw new IllegalStateException("the server describes a file that cannot be read", malformed);
    }
  }

  @Test
  void callWithoutAToken_isUnauthenticated_andOneOfAnotherScopeDenied() throws Exception {
    Path file = Files.writeString(folder.resolve("tokens.yml"), tokens());
    try (RateLimitNode node =
        RateLimitNode.start(folder, NO_POLICIES, Map.of("WEIR_TOKENS_FILE", file.toString()))) {
      assertEquals(
          Code.OK,
          node.withToken(TOKEN)
              .shouldRateLimit(Requests.of(descriptor("a", "b")))
              .getOverallCode());
      assertEquals(Status.Code.UNAUTHENTICATED, refusal(() -> node.patient()));
      assertEquals(Status.Code.UNAUTHENTICATED, refusal(() -> node.withToken("weirt_other")));
      assertEquals(Status.Code.PERMISSION_DENIED, refusal(() -> node.withToken(READER)));
      // balancers have no token
      ManagedChannel channel = node.connect();
      Await.until("health without a token", () -> health(channel, "") == ServingStatus.SERVING);
      assertEquals(401, node.post("/json", "{}").statusCode());
      Received<ServerReflectionResponse> received = new Received<>();
      ServerReflectionGrpc.newStub(channel)
          .serverReflectionInfo(received)
          .onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
      Throwable failure = received.failures.poll(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      assertEquals(Status.Code.UNAUTHENTICATED, Status.fromThrowable(failure).getCode());
    }
  }

  private static String tokens() {
    return TokenFile.empty()
        .with(
            new TokenFile.Entry(
                ApiKeyHash.of(TOKEN), new Grant("gateway", Set.of(Scope.CHECK), Set.of()), null))
        .with(
            new TokenFile.Entry(
                ApiKeyHash.of(READER), new Grant("reader", Set.of(Scope.REPORT), Set.of()), null))
        .text();
  }

  private interface Client {
    RateLimitServiceGrpc.RateLimitServiceBlockingStub get();
  }

  private static Status.Code refusal(Client client) {
    return assertThrows(
            StatusRuntimeException.class,
            () -> client.get().shouldRateLimit(Requests.of(descriptor("a", "b"))))
        .getStatus()
        .getCode();
  }

  @Test
  void portUsesTls_likeOtherPorts_requestsClientCertificates() throws Exception {
    TestCertificates certificates = TestCertificates.in(folder).issue("server").issue("client");
    try (RateLimitNode node =
        RateLimitNode.start(
            folder,
            NO_POLICIES,
            Map.of(
                "WEIR_TLS_CERTIFICATE", certificates.certificate("server").toString(),
                "WEIR_TLS_KEY", certificates.key("server").toString(),
                "WEIR_TLS_CLIENT_CA", certificates.authority().toString()))) {
      assertEquals(Status.Code.UNAVAILABLE, refusal(() -> node.patient()));
      assertEquals(Status.Code.UNAVAILABLE, refusalOverTls(node, certificates, false));
      ManagedChannel channel = secure(node, certificates, true);
      try {
        assertEquals(
            Code.OK,
            RateLimitServiceGrpc.newBlockingStub(channel)
                .withDeadlineAfter(30, TimeUnit.SECONDS)
                .shouldRateLimit(Requests.of(descriptor("a", "b")))
                .getOverallCode());
      } finally {
        channel.shutdownNow();
      }
    }
  }

  private static Status.Code refusalOverTls(
      RateLimitNode node, TestCertificates certificates, boolean shows) throws Exception {
    ManagedChannel channel = secure(node, certificates, shows);
    try {
      return refusal(
          () ->
              RateLimitServiceGrpc.newBlockingStub(channel)
                  .withDeadlineAfter(30, TimeUnit.SECONDS));
    } finally {
      channel.shutdownNow();
    }
  }

  private static ManagedChannel secure(
      RateLimitNode node, TestCertificates certificates, boolean shows) throws Exception {
    var context = GrpcSslContexts.forClient().trustManager(certificates.authority().toFile());
    if (shows) {
      context.keyManager(
          certificates.certificate("client").toFile(), certificates.key("client").toFile());
    }
    return NettyChannelBuilder.forAddress("localhost", node.port())
        .sslContext(context.build())
        .build();
  }

  /** Regression: any sender that reached the port could fill the log. */
  @Test
  void messageThatIsNoQuestionForHealth_isInvalid_andNotLogged() throws Exception {
    List<LogRecord> logged = new CopyOnWriteArrayList<>();
    Handler keeping =
        new Handler() {
          @Override
          public void publish(LogRecord entry) {
            logged.add(entry);
          }

          @Override
          public void flush() {}

          @Override
          public void close() {}
        };
    Logger library = Logger.getLogger("io.grpc");
    library.addHandler(keeping);
    try (RateLimitNode node = RateLimitNode.start(folder, NO_POLICIES, Map.of())) {
      ManagedChannel channel = node.connect();
      for (MethodDescriptor<HealthCheckRequest, HealthCheckResponse> method :
          List.of(HealthGrpc.getCheckMethod(), HealthGrpc.getWatchMethod())) {
        for (int i = 0; i < 20; i++) {
          assertEquals(Status.Code.INVALID_ARGUMENT, sent(channel, method, new byte[] {0x0c, 1}));
        }
      }
      Await.until("the node to be ready", () -> health(channel, "") == ServingStatus.SERVING);
      assertEquals(List.of(), logged.stream().map(LogRecord::getMessage).toList());
    } finally {
      library.removeHandler(keeping);
    }
  }

  /** Sends the bytes of a message, which need not be one; returns how the call ends. */
  private static Status.Code sent(
      ManagedChannel channel,
      MethodDescriptor<HealthCheckRequest, HealthCheckResponse> method,
      byte[] message) {
    MethodDescriptor.Marshaller<byte[]> asItIs =
        new MethodDescriptor.Marshaller<>() {
          @Override
          public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
          }

          @Override
          public byte[] parse(InputStream stream) {
            throw new IllegalStateException("no answer is expected");
          }
        };
    return assertThrows(
            StatusRuntimeException.class,
            () ->
                ClientCalls.blockingServerStreamingCall(
                        channel,
                        method.toBuilder(asItIs, asItIs)
                            .setType(MethodDescriptor.MethodType.SERVER_STREAMING)
                            .build(),
                        CallOptions.DEFAULT.withDeadlineAfter(30, TimeUnit.SECONDS),
                        message)
                    .hasNext())
        .getStatus()
        .getCode();
  }

  /** The keys by which tokens are verified do not come, and no call is kept beyond a bound. */
  @Test
  void moreTokensThanMayWait_areUnavailable() throws Exception {
    try (CallerIssuer issuer = CallerIssuer.start()) {
      issuer.hold();
      Map<String, String> settings =
          Map.of(
              "WEIR_JWKS", issuer.url(),
              "WEIR_JWT_ISSUER", CallerIssuer.NAME,
              "WEIR_JWT_AUDIENCE", CallerIssuer.AUDIENCE);
      try (RateLimitNode node = RateLimitNode.start(folder, NO_POLICIES, settings)) {
        Metadata headers = new Metadata();
        headers.put(
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
            "Bearer " + issuer.token("gateway"));
        List<RateLimitServiceGrpc.RateLimitServiceFutureStub> stubs = new ArrayList<>();
        for (int connection = 0; connection < 10; connection++) {
          stubs.add(
              RateLimitServiceGrpc.newFutureStub(node.connect())
                  .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers)));
        }
        Set<String> told = ConcurrentHashMap.newKeySet();
        // tokens wait only while the keys are being fetched, which begins every ten seconds
        Await.until(
            () -> "a call that is too many; told " + told,
            () -> {
              List<ListenableFuture<RateLimitResponse>> calls = new ArrayList<>();
              for (int i = 0; i < 120; i++) {
                for (var stub : stubs) {
                  calls.add(stub.shouldRateLimit(Requests.of(descriptor("a", "b"))));
                }
              }
              for (ListenableFuture<RateLimitResponse> call : calls) {
                told.add(failure(call));
              }
              return told.stream().anyMatch(each -> each.contains("limit of tokens to verify"));
            });
        assertTrue(
            told.stream().allMatch(each -> each.matches("(UNAVAILABLE|UNAUTHENTICATED).*")),
            told::toString);
        assertTrue(
            told.stream()
                .filter(each -> each.contains("limit of tokens to verify"))
                .allMatch(each -> each.startsWith("UNAVAILABLE")),
            told::toString);
        issuer.release();
      }
    }
  }

  private static String failure(ListenableFuture<RateLimitResponse> call) throws Exception {
    return String.valueOf(
        Status.fromThrowable(
                assertThrows(
                    ExecutionException.class,
                    () -> call.get(Await.TIMEOUT.toSeconds(), TimeUnit.SECONDS)))
            .asRuntimeException()
            .getMessage());
  }

  /** Frames of HTTP/2 by hand: a client of the library begins no call beyond the bound. */
  @Test
  void callBeyondTheBoundOfItsConnection_isRefused() throws Exception {
    int bound = 128;
    try (RateLimitNode node = RateLimitNode.start(folder, NO_POLICIES, Map.of());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), node.port())) {
      socket.setSoTimeout((int) Await.TIMEOUT.toMillis());
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      DataInputStream in = new DataInputStream(socket.getInputStream());
      out.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      frame(out, SETTINGS, 0, 0, new byte[0]);
      frame(out, SETTINGS, 1, 0, new byte[0]);
      // a ping is answered after everything sent before it has been read
      frame(out, PING, 0, 0, new byte[8]);
      int type = type(in);
      while (type != PING) {
        type = type(in);
      }
      for (int i = 0; i <= bound; i++) {
        frame(out, HEADERS, 4, 2 * i + 1, headOfACall());
      }

      int refused = 0;
      while (refused == 0) {
        int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
        boolean isReset = in.readUnsignedByte() == RST_STREAM;
        in.readUnsignedByte();
        int stream = in.readInt();
        byte[] payload = in.readNBytes(length);
        if (isReset) {
          assertEquals(REFUSED_STREAM, payload[3]);
          refused = stream;
        }
      }
      assertEquals(2 * bound + 1, refused);
    }
  }

  private static byte[] headOfACall() throws IOException {
    ByteArrayOutputStream head = new ByteArrayOutputStream();
    head.write(new byte[] {(byte) 0x83, (byte) 0x86, 0x44}); // POST, http, :path is
    text(head, "/" + RateLimitServiceGrpc.SERVICE_NAME + "/ShouldRateLimit");
    head.write(0);
    text(head, "content-type");
    text(head, "application/grpc");
    head.write(0);
    text(head, "te");
    text(head, "trailers");
    return head.toByteArray();
  }

  private static final int HEADERS = 1;
  private static final int RST_STREAM = 3;
  private static final int SETTINGS = 4;
  private static final int PING = 6;
  private static final int REFUSED_STREAM = 7;

  private static void frame(DataOutputStream out, int type, int flags, int stream, byte[] payload)
      throws IOException {
    out.writeByte(0);
    out.writeShort(payload.length);
    out.writeByte(type);
    out.writeByte(flags);
    out.writeInt(stream);
    out.write(payload);
    out.flush();
  }

  /** Passes over a frame, and returns its type. */
  private static int type(DataInputStream in) throws IOException {
    int length = in.readUnsignedByte() << 16 | in.readUnsignedShort();
    int type = in.readUnsignedByte();
    in.skipNBytes(1 + 4 + length);
    return type;
  }

  /** Writes a text of a head (RFC 7541 §5.2), without compression; less than 127 characters. */
  private static void text(ByteArrayOutputStream head, String text) {
    head.write(text.length());
    head.writeBytes(text.getBytes(StandardCharsets.US_ASCII));
  }

  /** Frames of HTTP/2 by hand (RFC 9113): a client of the library does not ping that often. */
  @Test
  void peerThatPingsTooOften_getsGoAway() throws Exception {
    byte[] settings = new byte[9];
    settings[3] = 4;
    byte[] ping = new byte[9 + 8];
    ping[2] = 8;
    ping[3] = 6;
    try (RateLimitNode node = RateLimitNode.start(folder, NO_POLICIES, Map.of());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), node.port())) {
      OutputStream out = socket.getOutputStream();
      out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      out.write(settings);
      for (int i = 0; i < 10; i++) {
        out.write(ping);
      }
      out.flush();

      socket.setSoTimeout((int) Await.TIMEOUT.toMillis());
      String answer =
          new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      assertTrue(answer.contains("too_many_pings"), answer);
    }
  }

  /** Regression: the server accepted 47,300 resets of one connection. */
  @Test
  void connectionThatResetsItsRequests_isClosed() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream frames = new DataOutputStream(bytes);
    frames.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    frame(frames, SETTINGS, 0, 0, new byte[0]);
    byte[] head = headOfACall();
    for (int i = 0; i < 50_000; i++) {
      frame(frames, HEADERS, 4, 2 * i + 1, head);
      frame(frames, RST_STREAM, 0, 2 * i + 1, new byte[] {0, 0, 0, 8});
    }
    try (RateLimitNode node = RateLimitNode.start(folder, NO_POLICIES, Map.of());
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), node.port())) {
      assertThrows(IOException.class, () -> socket.getOutputStream().write(bytes.toByteArray()));
      assertEquals(
          Code.OK,
          node.patient().shouldRateLimit(Requests.of(descriptor("a", "b"))).getOverallCode());
    }
  }

  @Test
  void connectionsBeyondTheBound_endOthersOrAreClosed() throws Exception {
    int bound = RateLimitServer.shareOf(1);
    List<Socket> sockets = new ArrayList<>();
    try (RateLimitNode node =
        RateLimitNode.start(folder, NO_POLICIES, Map.of("WEIR_MAX_CONNECTIONS", "1"))) {
      for (int i = 0; i < bound + 20; i++) {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), node.port());
        sockets.add(socket);
        greet(socket);
      }
      int open = 0;
      for (Socket socket : sockets) {
        open += isOpen(socket) ? 1 : 0;
      }
      assertTrue(open <= bound, () -> "more than " + bound);
      assertTrue(open > 0);
    } finally {
      for (Socket socket : sockets) {
        socket.close();
      }
    }
  }

  /** Pings; returns whether the ping comes back. */
  private static boolean isOpen(Socket socket) {
    try {
      frame(new DataOutputStream(socket.getOutputStream()), PING, 0, 0, new byte[8]);
      DataInputStream in = new DataInputStream(socket.getInputStream());
      int type = type(in);
      while (type != PING) {
        type = type(in);
      }
      return true;
    } catch (IOException closed) {
      return false;
    }
  }

  /** Begins HTTP/2 (RFC 9113). */
  private static void greet(Socket socket) throws IOException {
    socket.setSoTimeout((int) Await.TIMEOUT.toMillis());
    try {
      DataOutputStream out = new DataOutputStream(socket.getOutputStream());
      out.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      frame(out, SETTINGS, 0, 0, new byte[0]);
    } catch (SocketException closed) {
      assertFalse(isOpen(socket));
    }
  }

  @Test
  void portThatIsTaken_isNamedByItsVariable() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String port = Integer.toString(taken.getLocalPort());
      IngestStartException refused =
          assertThrows(
              IngestStartException.class,
              () -> RateLimitNode.start(folder, NO_POLICIES, Map.of("WEIR_GRPC_PORT", port)));
      assertEquals(
          "port "
              + port
              + " for gRPC is in use; set WEIR_GRPC_PORT to another port, or to 0 for any free port",
          refused.getMessage());
    }
  }
}
