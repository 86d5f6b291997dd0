// SPDX-License-Identifier: Apache-2.0
package io.weir.access;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.weir.limits.Names;
import io.weir.limits.policy.ApiKeyHash;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The content of a token file. A token file contains only the hashes of the tokens:
 *
 * <pre>{@code
 * tokens:
 *   - name: gateway
 *     sha256: 64 hexadecimal digits
 *     scopes: [check]
 *   - name: portal-of-acme
 *     sha256: 64 hexadecimal digits
 *     scopes: [report]
 *     clients: [acme]
 *     expires_at: 2027-01-01T00:00:00Z
 * }</pre>
 *
 * <p>Weir looks a token up by its hash. The time of the look-up reveals nothing about other tokens,
 * because similar tokens have unrelated hashes. Immutable.
 */
public final class TokenFile {
  /** Maximum number of tokens in a file. */
  public static final int MAX_TOKENS = 10_000;

  /** Maximum number of clients of one token. */
  static final int MAX_CLIENTS = 1_000;

  /** The rule for a name, as a phrase that follows the name of the field. */
  public static final String NAME_RULE = "must be 1 to 64 of the characters A-Z a-z 0-9 . _ -";

  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,64}");
  private static final Set<String> MEMBERS =
      Set.of("name", "sha256", "scopes", "clients", "expires_at");

  private static final ObjectMapper YAML =
      YAMLMapper.builder(
              YAMLFactory.builder()
                  .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                  .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  private final Map<ApiKeyHash, Entry> byHash;
  private final List<Entry> entries;

  private TokenFile(List<Entry> entries) {
    this.entries = List.copyOf(entries);
    this.byHash = new HashMap<>();
    entries.forEach(entry -> byHash.put(entry.hash(), entry));
  }

  /**
   * A token of a file.
   *
   * @param hash the hash of the token
   * @param grant the permissions of the token
   * @param expiresAt time from which on the token is not accepted; null if the token does not
   *     expire
   */
  public record Entry(ApiKeyHash hash, Grant grant, @Nullable Instant expiresAt) {
    boolean isExpired(Instant now) {
      return expiresAt != null && !now.isBefore(expiresAt);
    }
  }

  /** Thrown when a file is not a valid token file. The message lists all errors. */
  public static final class InvalidException extends Exception {
    private static final long serialVersionUID = 1L;

    InvalidException(String message) {
      super(message);
    }
  }

  /** Returns a file without tokens. */
  public static TokenFile empty() {
    return new TokenFile(List.of());
  }

  /**
   * Parses the content of a file in YAML. JSON is also valid YAML.
   *
   * @throws InvalidException if the content is not valid; the message has one line per error
   */
  public static TokenFile parse(String text) throws InvalidException {
    JsonNode root;
    try {
      root = YAML.readTree(text);
    } catch (JacksonException notYaml) {
      throw new InvalidException("the file must be YAML, but has an error at " + place(notYaml));
    }
    if (root == null || root.isMissingNode() || root.isNull()) {
      throw new InvalidException(
          "the file is empty; for a file without tokens, write the line 'tokens: []'");
    }
    JsonNode tokens = root.path("tokens");
    if (!root.isObject() || root.size() != 1 || !tokens.isArray()) {
      throw new InvalidException(
          "the file must have only the member 'tokens', whose value must be a list");
    }
    if (tokens.size() > MAX_TOKENS) {
      throw new InvalidException("the file must have at most " + MAX_TOKENS + " tokens");
    }
    return new Parser().parse(tokens);
  }

  /**
   * Returns the position of an error, without the text at the position, because the text may be a
   * token.
   */
  private static String place(JacksonException notYaml) {
    return notYaml.getLocation() == null ? "its end" : "line " + notYaml.getLocation().getLineNr();
  }

  private static final class Parser {
    private final List<Entry> entries = new ArrayList<>();
    private final List<String> problems = new ArrayList<>();
    private final Set<String> names = new HashSet<>();
    private final Set<ApiKeyHash> hashes = new HashSet<>();

    TokenFile parse(JsonNode tokens) throws InvalidException {
      for (int i = 0; i < tokens.size(); i++) {
        entry("tokens[" + i + "]", tokens.get(i));
      }
      if (!problems.isEmpty()) {
        throw new InvalidException(String.join("\n      ", problems));
      }
      return new TokenFile(entries);
    }

    private void entry(String place, JsonNode token) {
      int before = problems.size();
      if (!token.isObject()) {
        problems.add(place + " must be an object");
        return;
      }
      token
          .fieldNames()
          .forEachRemaining(
              member -> {
                if (!MEMBERS.contains(member)) {
                  problems.add(
                      place
                          + "."
                          + member
                          + " is unknown; the members are "
                          + new TreeSet<>(MEMBERS));
                }
              });
      String name = name(place + ".name", token.path("name"));
      Optional<ApiKeyHash> hash = hash(place + ".sha256", token.path("sha256"));
      Set<Scope> scopes = scopes(place + ".scopes", token.path("scopes"));
      Set<String> clients = clients(place + ".clients", token.path("clients"), scopes);
      Instant expiresAt = expiresAt(place + ".expires_at", token.path("expires_at"));
      if (problems.size() == before && hash.isPresent()) {
        entries.add(new Entry(hash.get(), new Grant(name, scopes, clients), expiresAt));
      }
    }

    private String name(String place, JsonNode value) {
      String name = value.asText();
      if (!value.isTextual() || !NAME.matcher(name).matches()) {
        problems.add(place + " " + NAME_RULE + actual(value));
      } else if (!names.add(name)) {
        problems.add(place + " is not unique: " + name);
      }
      return name;
    }

    /**
     * Returns the hash. The message of an error does not contain the value, because the value may
     * be a token.
     */
    private Optional<ApiKeyHash> hash(String place, JsonNode value) {
      if (!value.isTextual() || !ApiKeyHash.isHash(value.textValue())) {
        problems.add(
            place
                + " must be the SHA-256 of the token in 64 lower-case hexadecimal digits; 'weir"
                + " tokens create' prints it");
        return Optional.empty();
      }
      ApiKeyHash hash = ApiKeyHash.parse(value.textValue());
      if (!hashes.add(hash)) {
        problems.add(place + " is not unique");
      }
      return Optional.of(hash);
    }

    private Set<Scope> scopes(String place, JsonNode value) {
      Set<Scope> scopes = new HashSet<>();
      if (!value.isArray() || value.isEmpty()) {
        problems.add(
            place
                + " must be a list of scopes; each scope is check, report or admin"
                + actual(value));
        return scopes;
      }
      for (JsonNode each : value) {
        Scope.of(each.asText())
            .ifPresentOrElse(
                scopes::add,
                () -> problems.add(place + " must be check, report or admin" + actual(each)));
      }
      return scopes;
    }

    private Set<String> clients(String place, JsonNode value, Set<Scope> scopes) {
      Set<String> clients = new HashSet<>();
      if (value.isMissingNode()) {
        return clients;
      }
      if (!value.isArray() || value.isEmpty() || value.size() > MAX_CLIENTS) {
        problems.add(place + " must be a list of 1 to " + MAX_CLIENTS + " clients" + actual(value));
        return clients;
      }
      for (JsonNode each : value) {
        String violation = each.isTextual() ? Names.violation(each.textValue()) : "must be text";
        if (violation != null) {
          problems.add(place + " " + violation + actual(each));
        }
        clients.add(each.asText());
      }
      if (!scopes.equals(Set.of(Scope.REPORT))) {
        problems.add(place + " is allowed only for tokens with scopes: [report]");
      }
      return clients;
    }

    private @Nullable Instant expiresAt(String place, JsonNode value) {
      if (value.isMissingNode()) {
        return null;
      }
      try {
        return Instant.parse(value.asText());
      } catch (DateTimeException notATime) {
        problems.add(place + " must be a time such as 2027-01-01T00:00:00Z" + actual(value));
        return null;
      }
    }

    private static String actual(JsonNode value) {
      return value.isMissingNode() ? ", but is missing" : ", but is " + value;
    }
  }

  /**
   * Returns the token with the given hash, even if the token has expired; empty if there is no such
   * token.
   */
  Optional<Entry> find(ApiKeyHash hash) {
    return Optional.ofNullable(byHash.get(hash));
  }

  /** Returns the tokens, in the order of the file. */
  public List<Entry> entries() {
    return entries;
  }

  /** Returns the content with one more token. */
  public TokenFile with(Entry entry) {
    List<Entry> all = new ArrayList<>(entries);
    all.add(entry);
    return new TokenFile(all);
  }

  /** Returns the content without the token of the given name. */
  public TokenFile without(String name) {
    return new TokenFile(
        entries.stream().filter(entry -> !entry.grant().name().equals(name)).toList());
  }

  /** Returns whether a token has the given name. */
  public boolean has(String name) {
    return entries.stream().anyMatch(entry -> entry.grant().name().equals(name));
  }

  /** Returns the content as text that {@link #parse} can read. */
  public String text() {
    List<Map<String, Object>> tokens = new ArrayList<>();
    for (Entry entry : entries) {
      Map<String, Object> token = new LinkedHashMap<>();
      token.put("name", entry.grant().name());
      token.put("sha256", entry.hash().toString());
      token.put("scopes", entry.grant().scopes().stream().map(Scope::word).sorted().toList());
      if (entry.grant().isBound()) {
        token.put("clients", entry.grant().clients().stream().sorted().toList());
      }
      if (entry.expiresAt() != null) {
        token.put("expires_at", entry.expiresAt().toString());
      }
      tokens.add(token);
    }
    try {
      return YAML.writeValueAsString(Map.of("tokens", tokens));
    } catch (JacksonException impossible) {
      throw new IllegalStateException("writing a tree to memory cannot fail", impossible);
    }
  }
}
