// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.rls;

import static io.weir.ingest.rls.Requests.descriptor;
import static io.weir.ingest.rls.Requests.withHits;
import static io.weir.ingest.rls.Requests.withLimit;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.envoyproxy.envoy.config.core.v3.HeaderValue;
import io.envoyproxy.envoy.extensions.common.ratelimit.v3.RateLimitDescriptor;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitRequest;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.Code;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit;
import io.envoyproxy.envoy.service.ratelimit.v3.RateLimitServiceGrpc;
import io.envoyproxy.envoy.type.v3.RateLimitUnit;
import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import io.weir.testing.Await;
import io.weir.testing.CoreSuite;
import io.weir.topics.model.CallEvent;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Every rule of Envoy's rate limit service, driven by the generated client over real servers. */
@CoreSuite
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class RateLimitServiceIT {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static final String POLICIES =
      """
      policies:
        - name: three
          match: {attributes: {envoy.domain: [shop], kind: [three]}}
          key: [client, endpoint]
          limit: {algorithm: token-bucket, capacity: 3, refill_tokens: 3, refill_period: PT1H}
        - name: ten
          match: {attributes: {envoy.domain: [shop], kind: [ten]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 10, window: PT24H}
        - name: any-path
          match: {attributes: {envoy.domain: [shop], envoy.descriptor: [path]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 5, window: PT24H}
        - name: api-paths
          match: {attributes: {envoy.domain: [shop], envoy.descriptor: [path], path: ["/api/*"]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 4, window: PT24H}
        - name: slow-path
          match: {attributes: {envoy.domain: [shop], envoy.descriptor: [path], path: [/api/slow]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 2, window: PT24H}
        - name: huge
          match: {attributes: {envoy.domain: [shop], kind: [huge]}}
          limit: {algorithm: token-bucket, capacity: 9007199254, refill_tokens: 1, refill_period: PT1S}
        - name: tried
          match: {attributes: {envoy.domain: [shop], kind: [tried]}}
          key: [client, endpoint]
          limit: {algorithm: fixed-window, limit: 1, window: PT24H}
          mode: shadow
        - name: blocked
          match: {attributes: {envoy.domain: [shop], kind: [blocked]}}
          limit: {algorithm: deny}
        - name: whole-client
          match: {client: [acme]}
          limit: {algorithm: token-bucket, capacity: 2, refill_tokens: 1, refill_period: PT24H}
        - name: by-address
          match: {attributes: {envoy.domain: [shop], envoy.descriptor: [remote_address]}}
          key: [ip]
          limit: {algorithm: fixed-window, limit: 1, window: PT24H}
      """;

  private RateLimitNode node;

  @BeforeAll
  void start(@TempDir Path folder) throws Exception {
    node = RateLimitNode.start(folder, POLICIES, Map.of("WEIR_RLS_CLIENT_KEYS", "user_id, tenant"));
  }

  @AfterAll
  void stop() {
    if (node != null) {
      node.close();
    }
  }

  private RateLimitResponse ask(RateLimitDescriptor... descriptors) {
    return node.patient().shouldRateLimit(Requests.of(descriptors));
  }

  private DescriptorStatus one(RateLimitDescriptor descriptor) {
    RateLimitResponse response = ask(descriptor);
    assertEquals(1, response.getStatusesCount());
    assertEquals(response.getOverallCode(), response.getStatuses(0).getCode());
    return response.getStatuses(0);
  }

  private Status.Code refusal(RateLimitRequest request) {
    return assertThrows(StatusRuntimeException.class, () -> node.patient().shouldRateLimit(request))
        .getStatus()
        .getCode();
  }

  @Test
  void descriptor_isOkWithinItsLimit_andOverLimitBeyondIt() {
    RateLimitDescriptor asked = descriptor("kind", "three", "who", "a");

    DescriptorStatus first = one(asked);
    assertEquals(Code.OK, first.getCode());
    assertEquals(2, first.getLimitRemaining());
    assertEquals("three", first.getCurrentLimit().getName());
    assertEquals(3, first.getCurrentLimit().getRequestsPerUnit());
    assertEquals(Unit.HOUR, first.getCurrentLimit().getUnit());
    // a third of the bucket is missing
    long seconds = first.getDurationUntilReset().getSeconds();
    assertTrue(seconds > 1_100 && seconds <= 1_200, () -> "seconds " + seconds);

    assertEquals(1, one(asked).getLimitRemaining());
    assertEquals(0, one(asked).getLimitRemaining());
    DescriptorStatus denied = one(asked);
    assertEquals(Code.OVER_LIMIT, denied.getCode());
    assertEquals(0, denied.getLimitRemaining());
    // another value has a bucket of its own
    assertEquals(2, one(descriptor("kind", "three", "who", "b")).getLimitRemaining());
  }

  /** Sends the bytes of a message, which need not be one. */
  private byte[] send(byte[] message) {
    MethodDescriptor.Marshaller<byte[]> asItIs =
        new MethodDescriptor.Marshaller<>() {
          @Override
          public InputStream stream(byte[] value) {
            return new ByteArrayInputStream(value);
          }

          @Override
          public byte[] parse(InputStream stream) {
            try {
              return stream.readAllBytes();
            } catch (IOException impossible) {
              throw new UncheckedIOException(impossible);
            }
          }
        };
    return ClientCalls.blockingUnaryCall(
        node.patient().getChannel(),
        RateLimitServiceGrpc.getShouldRateLimitMethod().toBuilder(asItIs, asItIs).build(),
        CallOptions.DEFAULT.withDeadlineAfter(30, TimeUnit.SECONDS),
        message);
  }

  @Test
  void valueThatIsNotUtf8_isLimitedAsAnyOther() throws Exception {
    RateLimitRequest request = Requests.of(descriptor("kind", "three", "agent", "QQ"));
    byte[] message = Requests.withBytes(request, "QQ", 0xc3, 0x28);
    for (int i = 0; i < 3; i++) {
      assertEquals(Code.OK, RateLimitResponse.parseFrom(send(message)).getOverallCode());
    }
    assertEquals(Code.OVER_LIMIT, RateLimitResponse.parseFrom(send(message)).getOverallCode());
    // one that differs by a byte has a bucket of its own
    byte[] other = Requests.withBytes(request, "QQ", 0xc4, 0x28);
    assertEquals(Code.OK, RateLimitResponse.parseFrom(send(other)).getOverallCode());
  }

  @Test
  void messageThatIsNoRequest_isInvalid_andCounted() throws Exception {
    double before = invalid();
    StatusRuntimeException refused =
        assertThrows(StatusRuntimeException.class, () -> send(new byte[] {0x0c, 1, 2}));

    assertEquals(Status.Code.INVALID_ARGUMENT, refused.getStatus().getCode());
    assertTrue(invalid() > before);
  }

  private double invalid() throws Exception {
    return node.metrics()
        .lines()
        .filter(line -> line.startsWith("weir_grpc_requests_total{outcome=\"invalid\"}"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.indexOf(' ') + 1)))
        .sum();
  }

  @Test
  void longestPathThatEnvoyTakes_inSeveralDescriptors_isLimitedAsAnyOther() {
    String path = "/" + "x".repeat(60 * 1024);
    RateLimitDescriptor asked = descriptor("kind", "three", "long", path);
    RateLimitDescriptor[] copies = new RateLimitDescriptor[16];
    Arrays.fill(copies, descriptor("other", path));
    copies[0] = asked;

    RateLimitResponse response = ask(copies);
    assertEquals(16, response.getStatusesCount());
    assertEquals(2, response.getStatuses(0).getLimitRemaining());
    assertEquals(1, one(asked).getLimitRemaining());
  }

  /** Written behind one another, path and limit of both descriptors are the same text. */
  @Test
  void limitOfADescriptor_sharesNoBucketWithOneOfALongerPath() {
    RateLimitDescriptor longer =
        withLimit(descriptor("kind", "ten", "path", "/x1"), 5, RateLimitUnit.HOUR);
    RateLimitDescriptor shorter =
        withLimit(descriptor("kind", "ten", "path", "/x"), 15, RateLimitUnit.HOUR);

    assertEquals(4, one(longer).getLimitRemaining());
    assertEquals(14, one(shorter).getLimitRemaining());
    assertEquals(3, one(longer).getLimitRemaining());
    assertEquals(13, one(shorter).getLimitRemaining());
  }

  @Test
  void statuses_standInTheOrderOfTheDescriptors_andOneOverLimitIsEnough() {
    RateLimitDescriptor small = withHits(descriptor("kind", "three", "who", "order"), 4);
    RateLimitDescriptor wide = descriptor("kind", "ten", "who", "order");

    RateLimitResponse response = ask(wide, small, descriptor("kind", "no-policy"));

    assertEquals(Code.OVER_LIMIT, response.getOverallCode());
    assertEquals(
        List.of(Code.OK, Code.OVER_LIMIT, Code.OK),
        response.getStatusesList().stream().map(DescriptorStatus::getCode).toList());
    assertEquals(9, response.getStatuses(0).getLimitRemaining());
    assertEquals("ten", response.getStatuses(0).getCurrentLimit().getName());
    assertEquals(Unit.DAY, response.getStatuses(0).getCurrentLimit().getUnit());
    assertFalse(response.getStatuses(2).hasCurrentLimit());
    // each descriptor is charged by itself, as Envoy's own service does
    assertEquals(8, one(wide).getLimitRemaining());
  }

  @Test
  void hits_areThoseOfTheDescriptor_elseOfTheRequest_else1() {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "hits");
    RateLimitRequest three = Requests.of(asked).toBuilder().setHitsAddend(3).build();

    assertEquals(7, node.patient().shouldRateLimit(three).getStatuses(0).getLimitRemaining());
    RateLimitRequest two = Requests.of(withHits(asked, 2)).toBuilder().setHitsAddend(3).build();
    assertEquals(5, node.patient().shouldRateLimit(two).getStatuses(0).getLimitRemaining());
    assertEquals(4, one(asked).getLimitRemaining());
    assertEquals(Code.OVER_LIMIT, one(withHits(asked, 5)).getCode());
    // denied calls took no tokens
    assertEquals(0, one(withHits(asked, 4)).getLimitRemaining());
  }

  @Test
  void noHits_areAPeek_whichTakesNothingAndRecordsNothing() throws Exception {
    RateLimitDescriptor asked = descriptor("kind", "ten", "who", "peeked");
    DescriptorStatus peeked = one(withHits(asked, 0));

    assertEquals(Code.OK, peeked.getCode());
    assertEquals(10, peeked.getLimitRemaining());
    assertEquals(10, one(withHits(asked, 0)).getLimitRemaining());
    assertEquals(9, one(asked).getLimitRemaining());
    assertEquals(0, one(withHits(asked, 9)).getLimitRemaining());
    assertEquals(Code.OVER_LIMIT, one(withHits(asked, 0)).getCode());

    Await.until("both charges to be in Kafka", () -> costs("shop;kind=ten;who=peeked").size() >= 2);
    assertEquals(List.of(1L, 9L), costs("shop;kind=ten;who=peeked"));
  }

  private List<Long> costs(String endpoint) throws Exception {
    return recorded(endpoint).stream().map(CallEvent::cost).toList();
  }

  private List<CallEvent> recorded(String endpoint) throws Exception {
    return node.recorded().stream().filter(call -> call.endpoint().equals(endpoint)).toList();
  }

  @Test
  void verdicts_areRecordedAsThoseOfChecks() throws Exception {
    ask(
        descriptor("user_id", "globex", "kind", "blocked"),
        descriptor("user_id", "globex", "path", "/api/x"),
        descriptor("remote_address", "203.0.113.7"));

    Await.until(
        "the calls to be in Kafka",
        () ->
            !recorded("shop;user_id;kind=blocked").isEmpty()
                && !recorded("shop;user_id;path=/api/x").isEmpty()
                && !recorded("shop;remote_address=203.0.113.7").isEmpty());
    CallEvent denied = recorded("shop;user_id;kind=blocked").get(0);
    assertEquals("globex", denied.client());
    assertEquals("calls", denied.meter());
    assertFalse(denied.allowed());
    assertEquals("blocked", denied.policy());
    CallEvent ofAddress = recorded("shop;remote_address=203.0.113.7").get(0);
    assertEquals("shop", ofAddress.client());
    assertTrue(ofAddress.allowed());
    assertEquals("203.0.113.0/24", ofAddress.ipPrefix());
  }

  @Test
  void exactValue_comesBeforeAPart_andAPartBeforeAnyValue() {
    assertEquals("slow-path", limitOf(descriptor("path", "/api/slow")));
    assertEquals("api-paths", limitOf(descriptor("path", "/api/fast")));
    assertEquals("any-path", limitOf(descriptor("path", "/static")));
    // of the most specific alone tokens are taken
    assertEquals(Code.OK, one(descriptor("path", "/api/slow")).getCode());
    assertEquals(Code.OVER_LIMIT, one(descriptor("path", "/api/slow")).getCode());
    // another order, or another number of entries, is another descriptor
    assertEquals("", limitOf(descriptor("path", "/static", "more", "x")));
  }

  private String limitOf(RateLimitDescriptor descriptor) {
    return one(descriptor).getCurrentLimit().getName();
  }

  @Test
  void policiesOfClients_applyWithThoseOfDescriptors() {
    RateLimitDescriptor acme = descriptor("tenant", "acme", "kind", "ten");

    assertEquals("whole-client", limitOf(acme));
    assertEquals("whole-client", limitOf(descriptor("tenant", "acme", "other", "x")));
    assertEquals(Code.OVER_LIMIT, one(acme).getCode());
    assertEquals("ten", limitOf(descriptor("tenant", "initech", "kind", "ten")));
  }

  @Test
  void addressOfTheCaller_isLookedAtByPolicies() {
    assertEquals("by-address", limitOf(descriptor("remote_address", "198.51.100.1")));
    assertEquals(Code.OVER_LIMIT, one(descriptor("remote_address", "198.51.100.1")).getCode());
    assertEquals(Code.OK, one(descriptor("remote_address", "198.51.100.2")).getCode());
  }

  @Test
  void limitOfTheRequest_takesThePlaceOfThePolicys_withABucketOfItsOwn() {
    RateLimitDescriptor asked = descriptor("kind", "three", "who", "override");
    assertEquals(2, one(asked).getLimitRemaining());

    DescriptorStatus own = one(withLimit(asked, 2, RateLimitUnit.DAY));
    assertEquals(2, own.getCurrentLimit().getRequestsPerUnit());
    assertEquals(Unit.DAY, own.getCurrentLimit().getUnit());
    assertEquals(1, own.getLimitRemaining());
    assertEquals(0, one(withLimit(asked, 2, RateLimitUnit.DAY)).getLimitRemaining());
    assertEquals(Code.OVER_LIMIT, one(withLimit(asked, 2, RateLimitUnit.DAY)).getCode());
    // another limit has another bucket, and the policy's own is as it was
    assertEquals(6, one(withLimit(asked, 7, RateLimitUnit.DAY)).getLimitRemaining());
    assertEquals(1, one(asked).getLimitRemaining());
    assertEquals(Code.OVER_LIMIT, one(withLimit(asked, 0, RateLimitUnit.SECOND)).getCode());
    for (RateLimitUnit unit :
        List.of(RateLimitUnit.SECOND, RateLimitUnit.MONTH, RateLimitUnit.YEAR)) {
      assertEquals(unit.name(), one(withLimit(asked, 9, unit)).getCurrentLimit().getUnit().name());
    }
  }

  @Test
  void limitOfTheRequest_changesNeitherADenial_norAShadow_norWhatNoPolicyIsFor() {
    assertEquals(
        Code.OVER_LIMIT,
        one(withLimit(descriptor("kind", "blocked"), 100, RateLimitUnit.DAY)).getCode());
    RateLimitDescriptor shadow =
        withLimit(descriptor("kind", "tried", "who", "override"), 1, RateLimitUnit.DAY);
    one(shadow);
    assertEquals(Code.OK, one(shadow).getCode());
    RateLimitDescriptor unknown = withLimit(descriptor("no", "policy"), 1, RateLimitUnit.DAY);
    one(unknown);
    assertEquals(Code.OK, one(unknown).getCode());
  }

  @Test
  void shadowPolicy_deniesNothing_andTellsNoLimit() {
    RateLimitDescriptor asked = descriptor("kind", "tried", "who", "a");
    one(asked);
    DescriptorStatus second = one(asked);

    assertEquals(Code.OK, second.getCode());
    assertFalse(second.hasCurrentLimit());
  }

  @Test
  void tooLargeNumbers_areReducedTo32Bits() {
    DescriptorStatus status = one(descriptor("kind", "huge"));

    assertEquals(0xffff_ffffL, Integer.toUnsignedLong(status.getLimitRemaining()));
    assertEquals(
        0xffff_ffffL, Integer.toUnsignedLong(status.getCurrentLimit().getRequestsPerUnit()));
    assertEquals(Unit.UNKNOWN, status.getCurrentLimit().getUnit());
    // 2^32 − 1 hits, which are -1 in Java
    RateLimitRequest many =
        Requests.of(descriptor("kind", "huge")).toBuilder().setHitsAddend(-1).build();
    assertEquals(Code.OK, node.patient().shouldRateLimit(many).getOverallCode());
  }

  @Test
  void response_hasTheFieldsOfTheDescriptorThatIsNearestToItsLimit() {
    RateLimitDescriptor small = descriptor("kind", "three", "who", "fields");
    RateLimitDescriptor wide = descriptor("kind", "ten", "who", "fields");

    Map<String, String> fields = fields(ask(wide, small));
    assertEquals("\"three\";q=3;w=3600", fields.get("ratelimit-policy"));
    assertTrue(
        fields.getOrDefault("ratelimit", "").startsWith("\"three\";r=2;t="), fields::toString);
    assertEquals(2, fields.size(), fields::toString);
    ask(small);
    ask(small);

    Map<String, String> denied = fields(ask(wide, small));
    assertTrue(
        denied.getOrDefault("ratelimit", "").startsWith("\"three\";r=0;t="), denied::toString);
    long wait = Long.parseLong(denied.getOrDefault("retry-after", ""));
    assertTrue(wait > 1_100 && wait <= 1_200, denied::toString);
  }

  private static Map<String, String> fields(RateLimitResponse response) {
    return response.getResponseHeadersToAddList().stream()
        .collect(Collectors.toMap(HeaderValue::getKey, HeaderValue::getValue));
  }

  @Test
  void requestThatCannotBeDecided_isAnInvalidArgument_thatNamesTheField() {
    RateLimitDescriptor good = descriptor("kind", "ten", "who", "invalid");
    Map<String, RateLimitRequest> wrong =
        Map.of(
            "domain must not be empty",
            Requests.of(good).toBuilder().setDomain("").build(),
            "descriptors must have 1 to 64 elements, but has 0",
            Requests.of(),
            "descriptors[1].entries must have 1 to 64 elements, but has 0",
            Requests.of(good, descriptor()),
            "descriptors[0].entries[0].key must not be empty",
            Requests.of(descriptor("", "x")),
            "descriptors[0].hits_addend must be at most 9007199254740991, but is 18446744073709551615",
            Requests.of(withHits(good, -1)),
            "descriptors[0].limit.unit must be the number of a time unit, but is 0",
            Requests.of(withLimit(good, 1, RateLimitUnit.UNKNOWN)),
            "descriptors[1].is_negative_hits must be false or absent: Weir does not give hits back",
            Requests.of(good, Requests.negative(good)));

    wrong.forEach(
        (rule, request) -> {
          Status status =
              assertThrows(
                      StatusRuntimeException.class, () -> node.patient().shouldRateLimit(request))
                  .getStatus();
          assertEquals(Status.Code.INVALID_ARGUMENT, status.getCode(), rule);
          assertEquals(rule, status.getDescription());
        });
    // of a request that is refused nothing is taken
    assertEquals(9, one(good).getLimitRemaining());
    assertEquals(Status.Code.RESOURCE_EXHAUSTED, refusal(tooLarge()));
  }

  private static RateLimitRequest tooLarge() {
    return Requests.of(descriptor("kind", "x".repeat(1_100_000)));
  }

  @Test
  void valuesOfCallers_areNeverRefused() {
    for (String value : List.of("", "\u0000", "*", "{id}", "x".repeat(3_000), "päth;user_id=z")) {
      assertEquals("any-path", limitOf(descriptor("path", value)), value);
      assertEquals(Code.OK, one(descriptor("user_id", value, "kind", "ten")).getCode(), value);
    }
  }

  @Test
  void json_isTheSameService() throws Exception {
    String body =
        """
        {"domain":"shop","descriptors":[{"entries":[{"key":"kind","value":"three"},\
        {"key":"who","value":"json"}],"hitsAddend":"2"}]}""";
    HttpResponse<String> allowed = node.post("/json", body);

    assertEquals(200, allowed.statusCode(), allowed.body());
    assertEquals("application/json", allowed.headers().firstValue("Content-Type").orElse(""));
    JsonNode status = JSON.readTree(allowed.body()).path("statuses").path(0);
    assertEquals("OK", JSON.readTree(allowed.body()).path("overallCode").asText());
    assertEquals("OK", status.path("code").asText());
    assertEquals(1, status.path("limitRemaining").asInt());
    assertEquals("HOUR", status.path("currentLimit").path("unit").asText());
    // the same bucket as over gRPC
    assertEquals(0, one(descriptor("kind", "three", "who", "json")).getLimitRemaining());

    HttpResponse<String> denied = node.post("/json", body.replace("hitsAddend", "hits_addend"));
    assertEquals(429, denied.statusCode(), denied.body());
    assertEquals("application/json", denied.headers().firstValue("Content-Type").orElse(""));
    assertEquals("OVER_LIMIT", JSON.readTree(denied.body()).path("overallCode").asText());
  }

  @Test
  void json_thatCannotBeDecided_is400() throws Exception {
    String entries = "\"entries\":[{\"key\":\"kind\",\"value\":\"ten\"}]";
    for (Map.Entry<String, String> wrong :
        Map.of(
                "",
                "invalid-body",
                "[]",
                "invalid-body",
                "{\"domain\":\"shop\",\"domain\":\"shop\"}",
                "invalid-body",
                "{\"domain\":\"shop\",\"descriptors\":[{" + entries + "}],\"other\":1}",
                "invalid-body",
                "{\"domain\":\"shop\"}",
                "invalid-member",
                "{\"domain\":\"shop\",\"descriptors\":[{" + entries + ",\"isNegativeHits\":true}]}",
                "invalid-member")
            .entrySet()) {
      HttpResponse<String> answer = node.post("/json", wrong.getKey());
      assertEquals(400, answer.statusCode(), wrong.getKey());
      assertEquals(
          wrong.getValue(), JSON.readTree(answer.body()).path("reason").asText(), answer.body());
    }
    HttpResponse<String> negative =
        node.post(
            "/json",
            "{\"domain\":\"shop\",\"descriptors\":[{" + entries + ",\"is_negative_hits\":true}]}");
    assertEquals(
        "descriptors[0].is_negative_hits",
        JSON.readTree(negative.body()).path("field").asText(),
        negative.body());
    HttpResponse<String> notNegative =
        node.post(
            "/json",
            "{\"domain\":\"shop\",\"descriptors\":[{" + entries + ",\"is_negative_hits\":false}]}");
    assertEquals(200, notNegative.statusCode(), notNegative.body());
  }

  @Test
  void requests_areCountedByTheirOutcome() throws Exception {
    one(descriptor("kind", "ten", "who", "counted"));
    refusal(Requests.of());

    assertTrue(count("ok") >= 1);
    assertTrue(count("invalid") >= 1);
  }

  private double count(String outcome) throws Exception {
    String name = "weir_grpc_requests_total{outcome=\"" + outcome + "\"} ";
    return node.metrics()
        .lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
        .sum();
  }
}
