// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.ingest.gate.Call;
import io.weir.ingest.gate.CallRequest;
import io.weir.ingest.gate.KeyedCall;
import io.weir.limits.IpAddress;
import io.weir.limits.Names;
import io.weir.limits.policy.ApiKeyHash;
import io.weir.limits.policy.CallFacts;
import io.weir.topics.model.CallEvent;
import io.weir.topics.problem.Problem;
import io.weir.topics.problem.ProblemReason;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads calls out of the header fields that a gateway sends. Thread-safe. */
public final class CallReader {
  /** Longest API key; as in the body of a check. */
  private static final int MAX_API_KEY_BYTES = 1_024;

  private static final String FORWARDED_FOR = "X-Forwarded-For";
  private static final String AUTHORIZATION = "Authorization";
  private static final List<String> SCHEMES = List.of("apikey ", "bearer ");
  private static final String NOT_DECIDED = "; the call was neither decided nor recorded";

  private static final Problem NOT_CONFIGURED =
      Problem.of(
          ProblemReason.AUTHZ_NOT_CONFIGURED,
          "nothing says by which header field callers are known; set "
              + AuthzSettings.CLIENT_HEADER
              + " or "
              + AuthzSettings.API_KEY_HEADER
              + " on this node");

  private final AuthzSettings settings;

  /** Creates a reader. */
  public CallReader(AuthzSettings settings) {
    this.settings = settings;
  }

  /** The header fields of a request. */
  public interface Fields {
    /**
     * Returns the values of all fields of a name, in their order; each character stands for a byte.
     */
    List<String> values(String name);
  }

  /** What was read. */
  public sealed interface Read {
    /** A call that can be decided. */
    record Asked(CallRequest call) implements Read {}

    /** Why the call cannot be decided. */
    record Refused(Problem problem) implements Read {}
  }

  /** Returns why no call can be read; null if calls can be. */
  public @Nullable Problem off() {
    return settings.identity() == null ? NOT_CONFIGURED : null;
  }

  /**
   * Reads a call.
   *
   * @param method the method of the caller's request, as it was written
   * @param target its path and query, as they were written
   */
  public Read read(Fields fields, String method, String target) {
    CallIdentity identity = settings.identity();
    if (identity == null) {
      return new Read.Refused(NOT_CONFIGURED);
    }
    List<String> values = fields.values(identity.header());
    if (values.size() != 1 || values.get(0).isBlank()) {
      return unknown(
          identity, values.size() > 1 ? "must be given once" : "is missing, or has no value");
    }
    String id = id(fields);
    String endpoint = settings.routes().endpoint(method, target);
    IpAddress ip =
        settings.trustedHops() == 0
            ? null
            : ForwardedFor.address(fields.values(FORWARDED_FOR), settings.trustedHops());
    return identity instanceof CallIdentity.ClientKey key
        ? ofKey(key, values.get(0), endpoint, ip, id)
        : ofClient(identity, values.get(0), endpoint, ip, id);
  }

  private static Read ofClient(
      CallIdentity identity,
      String value,
      String endpoint,
      @Nullable IpAddress ip,
      @Nullable String id) {
    String client = utf8(value.strip());
    String violation = client == null ? "must be UTF-8" : Names.violation(client);
    if (client == null || violation != null) {
      return unknown(identity, String.valueOf(violation));
    }
    CallFacts facts = new CallFacts(client, endpoint, CallEvent.DEFAULT_METER, ip, Map.of());
    return new Read.Asked(new Call(facts, 1, id));
  }

  /** Reads a key, and keeps its hash alone; no problem repeats any part of it. */
  private static Read ofKey(
      CallIdentity.ClientKey identity,
      String value,
      String endpoint,
      @Nullable IpAddress ip,
      @Nullable String id) {
    String key = utf8(credentials(identity, value.strip()));
    String violation = key == null ? "must be UTF-8" : Names.violation(key, MAX_API_KEY_BYTES);
    if (key == null || violation != null) {
      return unknown(identity, String.valueOf(violation));
    }
    return new Read.Asked(
        new KeyedCall(ApiKeyHash.of(key), endpoint, CallEvent.DEFAULT_METER, ip, Map.of(), 1, id));
  }

  private static String credentials(CallIdentity.ClientKey identity, String value) {
    if (identity.header().equalsIgnoreCase(AUTHORIZATION)) {
      String lower = value.toLowerCase(Locale.ROOT);
      for (String scheme : SCHEMES) {
        if (lower.startsWith(scheme)) {
          return value.substring(scheme.length()).strip();
        }
      }
      return "";
    }
    return value;
  }

  /** Returns the id that the gateway gives the call; null if it gives none that can be one. */
  private @Nullable String id(Fields fields) {
    String header = settings.idHeader();
    if (header == null) {
      return null;
    }
    List<String> values = fields.values(header);
    String id = values.size() == 1 ? utf8(values.get(0).strip()) : null;
    return id == null || Names.violation(id) != null ? null : id;
  }

  /** Reads the bytes that the characters stand for as UTF-8; null if they are none. */
  private static @Nullable String utf8(String bytes) {
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPORT)
          .decode(ByteBuffer.wrap(bytes.getBytes(StandardCharsets.ISO_8859_1)))
          .toString();
    } catch (CharacterCodingException malformed) {
      return null;
    }
  }

  private static Read unknown(CallIdentity identity, String rule) {
    return new Read.Refused(
        Problem.ofField(ProblemReason.CALLER_UNKNOWN, identity.header(), rule + NOT_DECIDED));
  }
}
