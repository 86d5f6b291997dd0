// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.weir.cli.console.PolicyText;
import io.weir.cli.console.PublishedPolicies;
import io.weir.cli.console.Terminal;
import io.weir.cli.policies.PublishedPoliciesCommands;
import io.weir.ingest.policy.NewApiKey;
import io.weir.ingest.policy.log.ApiKeyEdits;
import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEdits;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyKey;
import io.weir.limits.policy.ApiKey;
import io.weir.limits.policy.ApiKeyHash;
import java.io.PrintWriter;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Commands for the API keys of clients. */
@Command(
    name = "keys",
    mixinStandardHelpOptions = true,
    description =
        "Create, list and revoke the API keys of a client. A call can send an API key instead of"
            + " the client's name.")
final class ClientKeysCommand {
  private static final int SHOWN_DIGITS = 12;

  @Mixin private final Terminal terminal = new Terminal();

  @Command(
      name = "create",
      mixinStandardHelpOptions = true,
      description = {
        "Create an API key of a client and print it. The key is shown only once, because Weir keeps"
            + " only its SHA-256. All other messages go to standard error.",
        "With --sha256 the command imports a key that was created elsewhere, and prints no key."
      })
  int create(
      @Parameters(paramLabel = "CLIENT", description = "the client") String client,
      @Option(
              names = "--id",
              paramLabel = "ID",
              description =
                  "the key's id, unique for the client (the first 8 digits of the key's SHA-256)")
          @Nullable String id,
      @Mixin ExpiryOptions expires,
      @Option(
              names = "--sha256",
              paramLabel = "HEX",
              description =
                  "the SHA-256 of a key that was created elsewhere from at least 256 random bits")
          @Nullable String sha256) {
    PolicyKey key = ClientsCommand.key(client, terminal);
    if (id != null && !ApiKey.isId(id)) {
      throw terminal.wrong("--id " + ApiKey.ID_RULE);
    }
    if (sha256 != null && !ApiKeyHash.isHash(sha256)) {
      throw terminal.wrong("--sha256 must be 64 lower-case hexadecimal digits");
    }
    Instant expiry = expires.moment(Instant.now());
    NewApiKey made = sha256 == null ? NewApiKey.random() : null;
    ApiKeyHash hash = made == null ? ApiKeyHash.parse(String.valueOf(sha256)) : made.sha256();
    String name = id == null ? ApiKeyEdits.idOf(hash) : id;
    ObjectNode content = JsonNodeFactory.instance.objectNode();
    content.put("id", name);
    content.put("sha256", hash.toString());
    if (expiry != null) {
      content.put("expires_at", expiry.toString());
    }
    PolicyEditor.Outcome outcome =
        new PublishedPolicies(terminal.weir().kafka())
            .change(
                "clients keys create " + client,
                ApiKeyEdits.add(key, content, PolicyEdits.ANY_VERSION));
    if (made != null) {
      terminal.out().println(made.secret());
    }
    terminal
        .err()
        .printf(
            "key %s of %s %s, %s; version %d is published%n",
            name,
            client,
            made == null ? "is imported" : "is created, and is not shown again",
            ExpiryOptions.describe(expiry),
            outcome.after().version());
    return 0;
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description =
          "List the API keys of a client: the id, the first digits of the SHA-256, and the expiry.")
  int list(@Parameters(paramLabel = "CLIENT", description = "the client") String client) {
    PolicyKey key = ClientsCommand.key(client, terminal);
    PolicyEntry entry = new PublishedPolicies(terminal.weir().kafka()).read().entry(key);
    List<JsonNode> keys = ApiKeyEdits.keys(entry);
    PrintWriter out = terminal.out();
    for (JsonNode each : keys) {
      out.printf(
          "%-20s %s… %s%n",
          each.path("id").asText(),
          each.path("sha256").asText().substring(0, SHOWN_DIGITS),
          expiry(each.path("expires_at")));
    }
    out.println(
        PolicyText.count(keys.size(), "key", "keys")
            + (entry == null || entry.isDeleted()
                ? "; the client has no settings"
                : ", " + PublishedPoliciesCommands.since(entry)));
    return 0;
  }

  private static String expiry(JsonNode expiresAt) {
    if (expiresAt.isMissingNode()) {
      return "does not expire";
    }
    boolean isExpired =
        !OffsetDateTime.parse(expiresAt.asText()).toInstant().isAfter(Instant.now());
    return (isExpired ? "expired at " : "expires at ") + expiresAt.asText();
  }

  @Command(
      name = "revoke",
      mixinStandardHelpOptions = true,
      description =
          "Revoke an API key of a client. Within a second every node refuses calls that send this"
              + " key.")
  int revoke(
      @Parameters(paramLabel = "CLIENT", description = "the client") String client,
      @Parameters(paramLabel = "ID", description = "the key's id") String id) {
    PolicyKey key = ClientsCommand.key(client, terminal);
    if (!ApiKey.isId(id)) {
      // the command line is recorded as the author of the change: it must not contain a secret key
      throw terminal.wrong("ID " + ApiKey.ID_RULE);
    }
    PolicyEditor.Outcome outcome =
        new PublishedPolicies(terminal.weir().kafka())
            .change(
                "clients keys revoke " + client + " " + id,
                ApiKeyEdits.remove(key, id, PolicyEdits.ANY_VERSION));
    terminal
        .out()
        .printf("key %s is revoked; version %d is published%n", id, outcome.after().version());
    return 0;
  }
}
