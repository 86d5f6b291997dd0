// SPDX-License-Identifier: Apache-2.0
package io.weir.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpContext;
import com.sun.net.httpserver.HttpServer;
import io.weir.client.Decision.Cause;
import io.weir.client.Decision.Undecided;
import io.weir.testing.Await;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests settings, and responses of servers that are not nodes, such as proxies. */
final class WeirClientTest {
  private static final URI SOMEWHERE = URI.create("http://127.0.0.1:8080");

  private final AtomicInteger asked = new AtomicInteger();
  private HttpServer server;
  private @Nullable HttpContext context;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  /** Makes the server send the given response to all requests. */
  private URI answering(int status, String body) {
    if (context != null) {
      server.removeContext(context);
    }
    context =
        server.createContext(
            "/",
            exchange -> {
              asked.incrementAndGet();
              byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
              exchange.sendResponseHeaders(status, bytes.length);
              exchange.getResponseBody().write(bytes);
              exchange.close();
            });
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  private Decision checked(FailureMode mode, int status, String body) {
    try (WeirClient client =
        WeirClient.builder(mode, answering(status, body))
            .deadline(Await.TIMEOUT)
            .tryTimeout(Await.TIMEOUT)
            .build()) {
      return client.check(Call.of("acme").withId("seven"));
    }
  }

  private static void assertUndecided(Decision decision, Cause cause, boolean isAllowed) {
    Undecided undecided = assertInstanceOf(Undecided.class, decision);
    assertEquals("seven", undecided.id());
    assertEquals(cause, undecided.cause(), undecided::detail);
    assertEquals(isAllowed, undecided.isAllowed());
  }

  @Test
  void pageOfAProxy_isNoDecision_andIsRetried() {
    assertUndecided(checked(FailureMode.OPEN, 502, "<h1>Bad Gateway</h1>"), Cause.FAULT, true);
    assertEquals(3, asked.get());
  }

  @Test
  void pageThatSaysOk_isNoDecision() {
    assertUndecided(checked(FailureMode.CLOSED, 200, "<h1>Hello</h1>"), Cause.FAULT, false);
  }

  @Test
  void jsonThatIsNoVerdict_isNoDecision() {
    assertUndecided(checked(FailureMode.OPEN, 200, "{\"ok\":true}"), Cause.FAULT, true);
  }

  @Test
  void verdictWithAStatusThatNoVerdictHas_isNoDecision() {
    String allowed = "{\"allowed\":true,\"id\":\"seven\"}";
    String denied = "{\"allowed\":false,\"id\":\"seven\"}";
    for (int status : new int[] {201, 203, 302, 500, 502, 503, 504}) {
      assertUndecided(checked(FailureMode.CLOSED, status, allowed), Cause.FAULT, false);
    }
    for (int status : new int[] {200, 201, 302, 500, 502, 504}) {
      assertUndecided(checked(FailureMode.OPEN, status, denied), Cause.FAULT, true);
    }
    assertUndecided(checked(FailureMode.OPEN, 429, allowed), Cause.OVERLOADED, false);
    assertThrows(WeirRequestException.class, () -> checked(FailureMode.OPEN, 403, allowed));
  }

  @Test
  void verdictOfAnotherCall_isNoDecision() {
    for (String id : List.of("\"OTHER\"", "7", "null")) {
      String allowed = "{\"allowed\":true,\"id\":" + id + "}";
      String denied = "{\"allowed\":false,\"id\":" + id + "}";
      assertUndecided(checked(FailureMode.CLOSED, 200, allowed), Cause.FAULT, false);
      assertUndecided(checked(FailureMode.OPEN, 503, denied), Cause.FAULT, true);
      assertUndecided(checked(FailureMode.OPEN, 429, denied), Cause.OVERLOADED, false);
    }
    assertUndecided(checked(FailureMode.CLOSED, 200, "{\"allowed\":true}"), Cause.FAULT, false);
  }

  @Test
  void verdictOfTheCall_isADecision() {
    String allowed = "{\"allowed\":true,\"id\":\"seven\"}";
    String denied = "{\"allowed\":false,\"id\":\"seven\"}";
    assertInstanceOf(Decision.Allowed.class, checked(FailureMode.CLOSED, 200, allowed));
    for (int status : new int[] {429, 503}) {
      Decision.Denied refused =
          assertInstanceOf(Decision.Denied.class, checked(FailureMode.OPEN, status, denied));
      assertEquals(status, refused.status());
    }
  }

  @Test
  void verdictsOfABatch_areEachThatOfItsCall() {
    String answer =
        "[{\"status\":200,\"allowed\":true,\"id\":\"two\"},"
            + "{\"status\":500,\"allowed\":true,\"id\":\"two\"},"
            + "{\"status\":200,\"allowed\":true,\"id\":\"three\"}]";
    try (WeirClient client =
        WeirClient.builder(FailureMode.CLOSED, answering(200, answer))
            .deadline(Await.TIMEOUT)
            .tryTimeout(Await.TIMEOUT)
            .maxTries(1)
            .batches(Duration.ofMinutes(1), 3)
            .build()) {
      List<CompletableFuture<Decision>> decisions =
          Stream.of("one", "two", "three")
              .map(id -> client.checkAsync(Call.of("acme").withId(id)))
              .toList();
      assertInstanceOf(Undecided.class, decisions.get(0).join());
      assertInstanceOf(Undecided.class, decisions.get(1).join());
      assertInstanceOf(Decision.Allowed.class, decisions.get(2).join());
    }
  }

  @Test
  void limitOfAProxy_refusesInEveryMode() {
    assertUndecided(checked(FailureMode.OPEN, 429, "slow down"), Cause.OVERLOADED, false);
    assertEquals(1, asked.get());
  }

  @Test
  void overloadedNode_refusesInEveryMode_withoutRetry() {
    assertUndecided(
        checked(FailureMode.OPEN, 503, "{\"reason\":\"overloaded\",\"detail\":\"full\"}"),
        Cause.OVERLOADED,
        false);
    assertEquals(1, asked.get());
  }

  @Test
  void callThatWasNotRecorded_isRefusedInEveryMode() {
    assertUndecided(
        checked(FailureMode.OPEN, 503, "{\"reason\":\"not-recorded\",\"detail\":\"full\"}"),
        Cause.NOT_RECORDED,
        false);
  }

  @Test
  void stoppingNode_isAFailure() {
    assertUndecided(
        checked(FailureMode.OPEN, 503, "{\"reason\":\"stopping\",\"detail\":\"ends\"}"),
        Cause.FAULT,
        true);
  }

  @Test
  void wrongPath_isAnException_whateverTheMode() {
    WeirRequestException wrong =
        assertThrows(
            WeirRequestException.class, () -> checked(FailureMode.OPEN, 404, "<h1>No</h1>"));

    assertEquals(404, wrong.status());
    assertEquals("unknown", wrong.reason());
  }

  @Test
  void tokenSupplierFails_throws_andSendsNothing() {
    try (WeirClient client =
        WeirClient.builder(FailureMode.OPEN, answering(200, "{}"))
            .token(
                () -> {
                  throw new IllegalStateException("the vault is away");
                })
            .build()) {
      Exception told = assertThrows(Exception.class, () -> client.check(Call.of("acme")));
      assertTrue(String.valueOf(told.getMessage()).contains("the vault is away"));
    }
    assertEquals(0, asked.get());
  }

  @Test
  void errorOfTheTokenSupplier_isThrown_andReleasesThePermit() {
    assertEndsAfter(
        WeirClient.builder(FailureMode.OPEN, answering(200, "{}"))
            .maxUnderWay(1)
            .token(
                () -> {
                  throw new AssertionError("the vault is broken");
                }),
        client -> {
          for (int i = 0; i < 3; i++) {
            // if the only permit were in use, the call would be Undecided
            Exception told = assertThrows(Exception.class, () -> client.check(Call.of("acme")));
            assertTrue(String.valueOf(told.getMessage()).contains("the vault is broken"));
          }
        });
    assertEquals(0, asked.get());
  }

  @Test
  void errorOfTheTokenSupplier_inABatch_isThrown_releasesThePermit() {
    assertEndsAfter(
        WeirClient.builder(FailureMode.OPEN, answering(200, "{}"))
            .deadline(Await.TIMEOUT)
            .batches(Duration.ofMillis(1), 2)
            .token(
                () -> {
                  throw new AssertionError("the vault is broken");
                }),
        client -> {
          CompletableFuture<Decision> one = client.checkAsync(Call.of("acme"));
          CompletableFuture<Decision> other = client.checkAsync(Call.of("acme"));
          for (CompletableFuture<Decision> each : List.of(one, other)) {
            Exception told = assertThrows(Exception.class, each::join);
            assertTrue(String.valueOf(told.getMessage()).contains("the vault is broken"));
          }
        });
  }

  @Test
  void deadlineThatIsTooLong_isRefused_andLeavesNoPlaceTaken() {
    assertEndsAfter(
        ofSomewhere(),
        client -> {
          for (Duration wrong :
              List.of(
                  ChronoUnit.FOREVER.getDuration(),
                  Duration.ofDays(200 * 365),
                  Duration.ofMinutes(10).plusNanos(1),
                  Duration.ZERO,
                  Duration.ofSeconds(-1))) {
            String told =
                assertThrows(
                        IllegalArgumentException.class,
                        () -> client.checkAsync(Call.of("acme"), wrong))
                    .toString();
            assertTrue(told.contains("deadline"), told);
          }
        });
  }

  /**
   * Asserts that a client can be closed after an action. It cannot be closed while a request is in
   * progress.
   */
  private static void assertEndsAfter(WeirClient.Builder builder, Consumer<WeirClient> use) {
    WeirClient client = builder.build();
    use.accept(client);
    assertTimeoutPreemptively(Await.TIMEOUT, client::close);
  }

  @Test
  void closedClient_takesNoCall_andMayBeClosedAgain() {
    WeirClient client = WeirClient.builder(FailureMode.OPEN, SOMEWHERE).build();
    client.close();
    client.close();

    assertThrows(IllegalStateException.class, () -> client.check(Call.of("acme")));
  }

  @Test
  void wrongSettings_areRefusedByName() {
    assertRefused("node", WeirClient.builder(FailureMode.OPEN));
    assertRefused("node", WeirClient.builder(FailureMode.OPEN, URI.create("weir:8080")));
    assertRefused("node", WeirClient.builder(FailureMode.OPEN, URI.create("http://a/?b=c")));
    assertRefused("deadline", ofSomewhere().deadline(Duration.ZERO));
    assertRefused("deadline", ofSomewhere().deadline(Duration.ofHours(1)));
    assertRefused("tryTimeout", ofSomewhere().tryTimeout(Duration.ofSeconds(2)));
    assertRefused("settleDeadline", ofSomewhere().settleDeadline(Duration.ofMillis(-1)));
    assertRefused("maxTries", ofSomewhere().maxTries(0));
    assertRefused("maxUnderWay", ofSomewhere().maxUnderWay(0));
    assertRefused("batchLinger", ofSomewhere().batches(Duration.ofSeconds(1), 10));
    assertRefused("batchSize", ofSomewhere().batches(Duration.ofMillis(1), 1_001));
  }

  private static WeirClient.Builder ofSomewhere() {
    return WeirClient.builder(FailureMode.OPEN, SOMEWHERE);
  }

  private static void assertRefused(String setting, WeirClient.Builder builder) {
    String told = assertThrows(IllegalArgumentException.class, builder::build).toString();
    assertTrue(told.contains(setting), told);
  }

  @Test
  void deadlineOfACall_mustLeaveTimeBeyondTheLinger() {
    try (WeirClient client = ofSomewhere().batches(Duration.ofMillis(5), 10).build()) {
      assertThrows(
          IllegalArgumentException.class,
          () -> client.checkAsync(Call.of("acme"), Duration.ofMillis(5)));
    }
  }

  /** Regression: a race between the close and the completion of the last future. */
  @Test
  void close_returnsAfterEveryResult() {
    URI node = answering(200, "{\"allowed\":true,\"id\":\"1\"}");
    for (int i = 0; i < 500; i++) {
      WeirClient client =
          WeirClient.builder(FailureMode.CLOSED, node)
              .deadline(Duration.ofSeconds(60))
              .batches(Duration.ofSeconds(30), 1_000)
              .build();
      CompletableFuture<Decision> told = client.checkAsync(Call.of("acme").withId("1"));

      client.close();

      assertTrue(told.isDone());
    }
  }
}
