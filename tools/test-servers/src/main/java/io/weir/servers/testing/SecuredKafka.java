// SPDX-License-Identifier: Apache-2.0
package io.weir.servers.testing;

import io.weir.servers.EmbeddedKafka;
import io.weir.servers.KafkaNode;
import io.weir.servers.KafkaNode.Listener;
import io.weir.servers.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;

/**
 * A real broker with TLS, authentication and ACLs. Clients authenticate with SCRAM, with a
 * certificate or with an OAuth token. The broker allows only operations that an ACL allows. The
 * broker has a second listener without these restrictions, for the test itself. Not thread-safe.
 */
public final class SecuredKafka implements AutoCloseable {
  /** The method by which clients authenticate. */
  public enum Identity {
    /**
     * A password, which the client does not send and the broker does not store in plain text (RFC
     * 5802).
     */
    SCRAM("SASL_SSL"),
    /** A client certificate (mutual TLS). */
    CERTIFICATE("SSL"),
    /** An OAuth token that an issuer returns for a client secret (RFC 6749 §4.4, RFC 7628). */
    OAUTHBEARER("SASL_SSL");

    private final String protocol;

    Identity(String protocol) {
      this.protocol = protocol;
    }

    private String prefix() {
      return "listener.name." + name().toLowerCase(Locale.ROOT) + ".";
    }
  }

  private static final String OPEN = "OPEN";
  private static final String ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls";
  private static final String AUDIENCE = "kafka";
  private static final int ITERATIONS = 4_096;

  private final Path folder;
  private final Identity identity;
  private final TestCertificates certificates;
  private final TokenIssuer issuer;
  private final EmbeddedKafka kafka;
  private final int port;
  private final Admin admin;

  private SecuredKafka(
      Path folder,
      Identity identity,
      TestCertificates certificates,
      TokenIssuer issuer,
      EmbeddedKafka kafka,
      int port) {
    this.folder = folder;
    this.identity = identity;
    this.certificates = certificates;
    this.issuer = issuer;
    this.kafka = kafka;
    this.port = port;
    this.admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()));
  }

  /** Starts a broker without users and topics. */
  public static SecuredKafka start(Identity identity) {
    Path folder = TempFolders.create("secured-kafka");
    try {
      TestCertificates certificates = TestCertificates.in(folder).issue("broker");
      TokenIssuer issuer = TokenIssuer.start(AUDIENCE);
      int openPort = Ports.free();
      int securedPort = Ports.free();
      KafkaNode node =
          new KafkaNode(
              1,
              Uuid.randomUuid().toString(),
              List.of(Ports.freeForController()),
              List.of(
                  new Listener(OPEN, openPort, openPort),
                  new Listener(identity.name(), securedPort, securedPort)));
      Map<String, String> properties = new TreeMap<>();
      properties.put(
          "listener.security.protocol.map",
          "CONTROLLER:PLAINTEXT,"
              + OPEN
              + ":PLAINTEXT,"
              + identity.name()
              + ":"
              + identity.protocol);
      properties.put(
          "authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
      properties.put("super.users", "User:ANONYMOUS");
      String prefix = identity.prefix();
      tls(identityFile(folder, certificates, "broker"), certificates.authority())
          .forEach((name, value) -> properties.put(prefix + name, value));
      ofIdentity(identity, folder, issuer)
          .forEach((name, value) -> properties.put(prefix + name, value));
      EmbeddedKafka kafka = EmbeddedKafka.start(folder.resolve("data"), node, properties);
      return new SecuredKafka(folder, identity, certificates, issuer, kafka, securedPort);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** Writes a file with a private key and its certificate. */
  private static Path identityFile(Path folder, TestCertificates certificates, String name)
      throws IOException {
    return Files.writeString(
        folder.resolve(name + ".pem"),
        Files.readString(certificates.key(name))
            + Files.readString(certificates.certificate(name)));
  }

  private static Map<String, String> tls(Path identityFile, Path authority) {
    return Map.of(
        "ssl.keystore.type",
        "PEM",
        "ssl.keystore.location",
        identityFile.toString(),
        "ssl.truststore.type",
        "PEM",
        "ssl.truststore.location",
        authority.toString());
  }

  /** Returns the broker settings for an authentication method. */
  private static Map<String, String> ofIdentity(Identity identity, Path folder, TokenIssuer issuer)
      throws IOException {
    return switch (identity) {
      case SCRAM ->
          Map.of(
              "sasl.enabled.mechanisms",
              "SCRAM-SHA-512",
              "scram-sha-512.sasl.jaas.config",
              "org.apache.kafka.common.security.scram.ScramLoginModule required;");
      case CERTIFICATE ->
          Map.of(
              "ssl.client.auth",
              "required",
              "ssl.principal.mapping.rules",
              "RULE:^CN=([^ ,]+).*$/$1/");
      case OAUTHBEARER -> {
        String keys = issuer.writeKeys(folder.resolve("jwks.json")).toUri().toString();
        // this property is for the broker, which runs in this process; clients have their own
        // processes
        System.setProperty(ALLOWED_URLS, keys);
        String handler =
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler";
        yield Map.of(
            "sasl.enabled.mechanisms",
            "OAUTHBEARER",
            "oauthbearer.sasl.jaas.config",
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
            "oauthbearer.sasl.server.callback.handler.class",
            handler,
            "sasl.oauthbearer.jwks.endpoint.url",
            keys,
            "sasl.oauthbearer.expected.audience",
            AUDIENCE);
      }
    };
  }

  /** Returns the bootstrap servers of the listener that requires authentication. */
  public String bootstrapServers() {
    return "127.0.0.1:" + port;
  }

  /** Returns the bootstrap servers of the unrestricted listener, for the test itself. */
  public String openServers() {
    return kafka.bootstrapServers();
  }

  /**
   * Creates a user without permissions, and returns a file with client properties for this user.
   */
  public Path user(String name, String password)
      throws ExecutionException, InterruptedException, IOException {
    List<String> properties = new ArrayList<>();
    properties.add("security.protocol=" + identity.protocol);
    properties.add("ssl.truststore.type=PEM");
    properties.add("ssl.truststore.location=" + certificates.authority());
    properties.addAll(
        switch (identity) {
          case SCRAM -> withPassword(name, password);
          case CERTIFICATE -> {
            certificates.issue(name);
            yield List.of(
                "ssl.keystore.type=PEM",
                "ssl.keystore.location=" + identityFile(folder, certificates, name));
          }
          case OAUTHBEARER -> {
            issuer.add(name, password);
            yield List.of(
                "sasl.mechanism=OAUTHBEARER",
                "sasl.oauthbearer.token.endpoint.url=" + issuer.endpoint(),
                "sasl.login.callback.handler.class="
                    + "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
                "sasl.jaas.config="
                    + "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
                    + " clientId=\"%s\" clientSecret=\"%s\";".formatted(name, password));
          }
        });
    return Files.write(folder.resolve(name + ".properties"), properties);
  }

  private List<String> withPassword(String name, String password)
      throws ExecutionException, InterruptedException {
    admin
        .alterUserScramCredentials(
            List.of(
                new UserScramCredentialUpsertion(
                    name,
                    new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS),
                    password)))
        .all()
        .get();
    return List.of(
        "sasl.mechanism=SCRAM-SHA-512",
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required"
            + " username=\"%s\" password=\"%s\";".formatted(name, password));
  }

  /** Adds ACLs. */
  public void allow(List<AclBinding> acls) throws ExecutionException, InterruptedException {
    admin.createAcls(acls).all().get();
  }

  /** Deletes an ACL. */
  public void disallow(AclBinding acl) throws ExecutionException, InterruptedException {
    admin
        .deleteAcls(List.of(new AclBindingFilter(acl.pattern().toFilter(), acl.entry().toFilter())))
        .all()
        .get();
  }

  @Override
  public void close() {
    admin.close();
    kafka.close();
    issuer.close();
    TempFolders.delete(folder);
  }
}
