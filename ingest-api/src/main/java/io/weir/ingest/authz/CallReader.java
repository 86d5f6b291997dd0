// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import io.weir.access.caller.Caller;
import io.weir.access.caller.CallerTokenSettings;
import io.weir.access.caller.CallerTokens;
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
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads calls from the header fields of a gateway's requests. Thread-safe. */
public final class CallReader {
  private static final Logger LOG = LoggerFactory.getLogger(CallReader.class);

  private static final String FORWARDED_FOR = "X-Forwarded-For";
  private static final String AUTHORIZATION = "Authorization";
  private static final List<String> SCHEMES = List.of("apikey ", "bearer ");
  private static final String BEARER = "Bearer ";
  private static final String NOT_DECIDED = "; the call was neither decided nor recorded";

  private static final Problem NOT_CONFIGURED =
      Problem.of(
          ProblemReason.AUTHZ_NOT_CONFIGURED,
          "no setting says how to identify clients; set "
              + AuthzSettings.CLIENT_HEADER
              + ", "
              + AuthzSettings.API_KEY_HEADER
              + " or "
              + CallerTokenSettings.JWKS
              + " on this node");

  /** The challenge that requests an API key from the caller. */
  private static final String KEY_CHALLENGE = "ApiKey";

  /** The challenge that requests a token from the caller (RFC 6750 §3), without an error code. */
  private static final String TOKEN_CHALLENGE = "Bearer realm=\"weir\"";

  private final AuthzSettings settings;
  private final AtomicBoolean hasLoggedOff = new AtomicBoolean();

  /** Creates a reader. */
  public CallReader(AuthzSettings settings) {
    this.settings = settings;
  }

  /** The header fields of a request. */
  public interface Fields {
    /**
     * Returns the values of all fields with the given name, in order. Each character represents a
     * byte.
     */
    List<String> values(String name);
  }

  /** The result of reading a call. */
  public sealed interface Read {
    /** A call that the gate can decide. */
    record Asked(CallRequest call) implements Read {}

    /**
     * A call with a token that has not been verified yet.
     *
     * @param token the token as sent, not empty and at most {@link CallerTokens#MAX_CHARS}
     *     characters
     * @param endpoint the called endpoint
     * @param ip the caller's address; null if unknown
     * @param id the id of the call, assigned by the gateway; null for none
     */
    record Presented(String token, String endpoint, @Nullable IpAddress ip, @Nullable String id)
        implements Read {
      /** Returns the call of the client that the verified token names. */
      public Asked of(Caller caller) {
        return new Asked(
            new Call(
                new CallFacts(
                    caller.client(), endpoint, CallEvent.DEFAULT_METER, ip, caller.attributes()),
                1,
                id));
      }

      /** Returns a text without the token. */
      @Override
      public String toString() {
        return "Presented " + endpoint;
      }
    }

    /**
     * The reason why the call cannot be decided.
     *
     * @param challenge the challenge for the field {@code WWW-Authenticate} (RFC 9110 §11.6.1) if
     *     the status is 401
     */
    record Refused(Problem problem, String challenge) implements Read {}
  }

  /** Returns the reason why Weir cannot read calls; null if it can. Logs the reason once. */
  public @Nullable Problem off() {
    if (settings.identity() != null) {
      return null;
    }
    if (hasLoggedOff.compareAndSet(false, true)) {
      LOG.warn(
          "authz_not_configured detail=\"a gateway sent a request, but {}\"",
          NOT_CONFIGURED.detail());
    }
    return NOT_CONFIGURED;
  }

  /**
   * Reads a call.
   *
   * @param method the method of the caller's request, as sent
   * @param target the path and query of that request, as sent
   */
  public Read read(Fields fields, String method, String target) {
    CallIdentity identity = settings.identity();
    if (identity == null) {
      return new Read.Refused(NOT_CONFIGURED, "");
    }
    if (!(identity instanceof CallIdentity.ClientToken byToken)) {
      return read(identity, KEY_CHALLENGE, fields, method, target);
    }
    String token = "";
    List<String> values = fields.values(byToken.header());
    if (values.size() == 1) {
      token = token(byToken, values.get(0).strip());
    } else if (values.size() > 1) {
      return unknown(byToken, TOKEN_CHALLENGE, "must be given once");
    }
    if (token.length() > CallerTokens.MAX_CHARS) {
      return refused(byToken, "has more than " + CallerTokens.MAX_CHARS + " characters");
    }
    if (!token.isEmpty()) {
      return new Read.Presented(token, endpoint(method, target), ip(fields), id(fields));
    }
    CallIdentity otherwise = byToken.otherwise();
    return otherwise == null
        ? unknown(byToken, TOKEN_CHALLENGE, "must contain a token, as in Bearer TOKEN")
        : read(otherwise, TOKEN_CHALLENGE + ", " + KEY_CHALLENGE, fields, method, target);
  }

  /** Returns the refusal of a call whose token violates a rule; the refusal states the rule. */
  public Read.Refused refused(CallerTokens.Refused verdict) {
    CallIdentity identity = Objects.requireNonNull(settings.identity());
    return refused(identity, verdict.rule());
  }

  private static Read.Refused refused(CallIdentity identity, String rule) {
    return unknown(
        identity,
        TOKEN_CHALLENGE + ", error=\"invalid_token\", error_description=\"the token " + rule + '"',
        "has a token that " + rule);
  }

  /**
   * Returns the token in a field value. Returns the empty string if the value has no token, or has
   * another scheme.
   */
  private static String token(CallIdentity.ClientToken identity, String value) {
    if (value.regionMatches(true, 0, BEARER, 0, BEARER.length())) {
      return value.substring(BEARER.length()).strip();
    }
    return identity.header().equalsIgnoreCase(AUTHORIZATION) ? "" : value;
  }

  private String endpoint(String method, String target) {
    return settings.routes().endpoint(method, target);
  }

  private @Nullable IpAddress ip(Fields fields) {
    return settings.trustedHops() == 0
        ? null
        : ForwardedFor.address(fields.values(FORWARDED_FOR), settings.trustedHops());
  }

  private Read read(
      CallIdentity identity, String challenge, Fields fields, String method, String target) {
    List<String> values = fields.values(identity.header());
    if (values.size() != 1 || values.get(0).isBlank()) {
      return unknown(
          identity,
          challenge,
          values.size() > 1 ? "must be given once" : "is missing, or has no value");
    }
    String id = id(fields);
    String endpoint = endpoint(method, target);
    IpAddress ip = ip(fields);
    return identity instanceof CallIdentity.ClientKey key
        ? ofKey(key, challenge, values.get(0), endpoint, ip, id)
        : ofClient(identity, challenge, values.get(0), endpoint, ip, id);
  }

  private static Read ofClient(
      CallIdentity identity,
      String challenge,
      String value,
      String endpoint,
      @Nullable IpAddress ip,
      @Nullable String id) {
    String client = utf8(value.strip());
    String violation = client == null ? "must be UTF-8" : Names.violation(client);
    if (client == null || violation != null) {
      return unknown(identity, challenge, String.valueOf(violation));
    }
    CallFacts facts = new CallFacts(client, endpoint, CallEvent.DEFAULT_METER, ip, Map.of());
    return new Read.Asked(new Call(facts, 1, id));
  }

  /**
   * Reads a call with an API key, and keeps only the key's hash. Problem details never contain any
   * part of the key.
   */
  private static Read ofKey(
      CallIdentity.ClientKey identity,
      String challenge,
      String value,
      String endpoint,
      @Nullable IpAddress ip,
      @Nullable String id) {
    String key = utf8(credentials(identity, value.strip()));
    String violation =
        key == null ? "must be UTF-8" : Names.violation(key, KeyedCall.MAX_API_KEY_BYTES);
    if (key == null || violation != null) {
      return unknown(identity, challenge, String.valueOf(violation));
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

  /** Returns the call's id, assigned by the gateway; null if it is missing or invalid. */
  private @Nullable String id(Fields fields) {
    String header = settings.idHeader();
    if (header == null) {
      return null;
    }
    List<String> values = fields.values(header);
    String id = values.size() == 1 ? utf8(values.get(0).strip()) : null;
    return id == null || Names.violation(id) != null ? null : id;
  }

  /**
   * Decodes a text whose characters represent bytes of UTF-8. Returns null if the bytes are
   * invalid.
   */
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

  private static Read.Refused unknown(CallIdentity identity, String challenge, String rule) {
    return new Read.Refused(
        Problem.ofField(ProblemReason.CALLER_UNKNOWN, identity.header(), rule + NOT_DECIDED),
        challenge);
  }
}
