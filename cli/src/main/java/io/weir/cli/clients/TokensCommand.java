// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.clients;

import io.weir.access.BearerToken;
import io.weir.access.Grant;
import io.weir.access.Scope;
import io.weir.access.TokenFile;
import io.weir.cli.console.CommandFailedException;
import io.weir.cli.console.PolicyText;
import io.weir.cli.console.Terminal;
import io.weir.limits.Names;
import io.weir.limits.policy.ApiKeyHash;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ScopeType;

/** Commands for the file of bearer tokens. */
@Command(
    name = "tokens",
    mixinStandardHelpOptions = true,
    description = {
      "Create, list and revoke the tokens that clients send to Weir's ports.",
      "The tokens file holds the hashes of the tokens. Processes with this file as WEIR_TOKENS_FILE read"
          + " a change within seconds. Copy the file to the hosts of all processes."
    })
public final class TokensCommand {
  private static final String VARIABLE = "WEIR_TOKENS_FILE";

  @Mixin private final Terminal terminal = new Terminal();

  @Option(
      names = "--file",
      paramLabel = "FILE",
      scope = ScopeType.INHERIT,
      description = "the tokens file (WEIR_TOKENS_FILE, else tokens.yml)")
  private @Nullable Path file;

  @Command(
      name = "create",
      mixinStandardHelpOptions = true,
      description = {
        "Create a token, add its hash to the file, and print the token. The token is shown only"
            + " once.",
        "Standard output contains only the token."
      })
  int create(
      @Parameters(paramLabel = "NAME", description = "the token's name") String name,
      @Option(
              names = "--scope",
              paramLabel = "SCOPE",
              required = true,
              split = ",",
              description =
                  "check (check and settle calls), report (read usage and metrics) or admin (change"
                      + " policies, clients, switches); may be given several times")
          List<String> words,
      @Option(
              names = "--client",
              paramLabel = "CLIENT",
              description =
                  "with --scope report: restrict the token to the usage of this client; may be given"
                      + " several times")
          @Nullable List<String> clients,
      @Mixin ExpiryOptions expiry)
      throws IOException {
    Set<Scope> scopes = scopes(words);
    Set<String> bound = clients(clients, scopes);
    Instant expiresAt = expiry.moment(Instant.now());
    TokenFile tokens = read();
    if (tokens.has(name)) {
      throw terminal.wrong(
          "the token "
              + name
              + " exists already in "
              + path()
              + "; revoke it, or choose another name");
    }
    String token = BearerToken.create();
    TokenFile with =
        tokens.with(
            new TokenFile.Entry(ApiKeyHash.of(token), new Grant(name, scopes, bound), expiresAt));
    requireValid(with);
    write(with);
    terminal.out().println(token);
    terminal
        .err()
        .printf(
            "token %s is created, and is not shown again; it %s; its hash is in %s%n",
            name, ExpiryOptions.describe(expiresAt), path());
    return 0;
  }

  private Set<Scope> scopes(List<String> words) {
    Set<Scope> scopes = EnumSet.noneOf(Scope.class);
    for (String word : words) {
      scopes.add(
          EnumSet.allOf(Scope.class).stream()
              .filter(scope -> scope.word().equals(word))
              .findFirst()
              .orElseThrow(
                  () ->
                      terminal.wrong(
                          "--scope must be check, report or admin, but is '" + word + "'")));
    }
    return scopes;
  }

  private Set<String> clients(@Nullable List<String> clients, Set<Scope> scopes) {
    if (clients == null) {
      return Set.of();
    }
    terminal.require(
        scopes.equals(Set.of(Scope.REPORT)),
        "--client requires --scope report, and no other scope");
    for (String client : clients) {
      String violation = Names.violation(client);
      if (violation != null) {
        throw terminal.wrong("--client " + violation + ", but is '" + client + "'");
      }
    }
    return new HashSet<>(clients);
  }

  /**
   * Requires that other processes can read the file that the command writes, including the token's
   * name.
   */
  private void requireValid(TokenFile tokens) {
    try {
      TokenFile unused = TokenFile.parse(tokens.text());
    } catch (TokenFile.InvalidException invalid) {
      throw terminal.wrong(String.valueOf(invalid.getMessage()));
    }
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description = "List the tokens of the file: names, scopes, clients and expiry.")
  int list() throws IOException {
    PrintWriter out = terminal.out();
    TokenFile tokens = read();
    for (TokenFile.Entry entry : tokens.entries()) {
      Grant grant = entry.grant();
      String clients =
          grant.isBound()
              ? " of " + grant.clients().stream().sorted().collect(Collectors.joining(", "))
              : "";
      out.printf(
          "%-20s %s%s, %s%n",
          grant.name(),
          grant.scopes().stream().map(Scope::word).sorted().collect(Collectors.joining(", ")),
          clients,
          ExpiryOptions.describe(entry.expiresAt()));
    }
    out.println(PolicyText.count(tokens.entries().size(), "token", "tokens"));
    return 0;
  }

  @Command(
      name = "revoke",
      mixinStandardHelpOptions = true,
      description = "Remove a token from the file.")
  int revoke(@Parameters(paramLabel = "NAME", description = "the token's name") String name)
      throws IOException {
    TokenFile tokens = read();
    if (!tokens.has(name)) {
      throw new CommandFailedException("there is no token " + name + " in " + path());
    }
    write(tokens.without(name));
    terminal.out().println("token " + name + " is revoked");
    return 0;
  }

  private Path path() {
    return file == null ? Path.of(terminal.weir().setting(VARIABLE, "tokens.yml")) : file;
  }

  private TokenFile read() throws IOException {
    if (!Files.exists(path())) {
      return TokenFile.empty();
    }
    try {
      return TokenFile.parse(Files.readString(path(), StandardCharsets.UTF_8));
    } catch (TokenFile.InvalidException invalid) {
      throw new CommandFailedException(path() + ": " + invalid.getMessage());
    }
  }

  /**
   * Replaces the file. A process that reads the file at the same time sees either the old or the
   * new file.
   */
  private void write(TokenFile tokens) throws IOException {
    Path next = Path.of(path() + ".next");
    Files.writeString(next, tokens.text(), StandardCharsets.UTF_8);
    try {
      Files.move(next, path(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (FileSystemException mounted) {
      // a file that is itself a mount point cannot be replaced
      Files.writeString(path(), tokens.text(), StandardCharsets.UTF_8);
      Files.delete(next);
    }
  }
}
