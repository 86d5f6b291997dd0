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
 * A real broker to which clients come by TLS and SCRAM, and which allows what access control lists
 * allow and nothing else. The test itself comes by another listener, which allows everything. Not
 * thread-safe.
 */
public final class SecuredKafka implements AutoCloseable {
  private static final String OPEN = "OPEN";
  private static final String SECURED = "SECURED";
  private static final int ITERATIONS = 4_096;

  private final Path folder;
  private final TestCertificates certificates;
  private final EmbeddedKafka kafka;
  private final int port;
  private final Admin admin;

  private SecuredKafka(
      Path folder, TestCertificates certificates, EmbeddedKafka kafka, int port, Admin admin) {
    this.folder = folder;
    this.certificates = certificates;
    this.kafka = kafka;
    this.port = port;
    this.admin = admin;
  }

  /** Starts a broker without users and without topics. */
  public static SecuredKafka start() {
    Path folder = TempFolders.create("secured-kafka");
    try {
      TestCertificates certificates = TestCertificates.in(folder).issue("broker");
      Path identity = folder.resolve("broker.pem");
      Files.writeString(
          identity,
          Files.readString(certificates.key("broker"))
              + Files.readString(certificates.certificate("broker")));
      int openPort = Ports.free();
      int securedPort = Ports.free();
      KafkaNode node =
          new KafkaNode(
              1,
              Uuid.randomUuid().toString(),
              List.of(Ports.freeForController()),
              List.of(
                  new Listener(OPEN, openPort, openPort),
                  new Listener(SECURED, securedPort, securedPort)));
      EmbeddedKafka kafka =
          EmbeddedKafka.start(
              folder.resolve("data"), node, properties(identity, certificates.authority()));
      Admin admin = Admin.create(Map.of("bootstrap.servers", "127.0.0.1:" + openPort));
      return new SecuredKafka(folder, certificates, kafka, securedPort, admin);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private static Map<String, String> properties(Path identity, Path authority) {
    String ofSecured = "listener.name." + SECURED.toLowerCase(Locale.ROOT) + ".";
    Map<String, String> properties = new TreeMap<>();
    properties.put(
        "listener.security.protocol.map",
        "CONTROLLER:PLAINTEXT," + OPEN + ":PLAINTEXT," + SECURED + ":SASL_SSL");
    properties.put("sasl.enabled.mechanisms", "SCRAM-SHA-512");
    properties.put(ofSecured + "ssl.keystore.type", "PEM");
    properties.put(ofSecured + "ssl.keystore.location", identity.toString());
    properties.put(ofSecured + "ssl.truststore.type", "PEM");
    properties.put(ofSecured + "ssl.truststore.location", authority.toString());
    properties.put(
        ofSecured + "scram-sha-512.sasl.jaas.config",
        "org.apache.kafka.common.security.scram.ScramLoginModule required;");
    properties.put(
        "authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
    properties.put("super.users", "User:ANONYMOUS");
    return properties;
  }

  /** Returns the addresses at which clients are asked who they are. */
  public String bootstrapServers() {
    return "127.0.0.1:" + port;
  }

  /** Returns the addresses at which everything is allowed, for what a test looks up itself. */
  public String openServers() {
    return kafka.bootstrapServers();
  }

  /** Creates a user who may do nothing, and returns a file with the properties of its clients. */
  public Path user(String name, String password)
      throws ExecutionException, InterruptedException, IOException {
    admin
        .alterUserScramCredentials(
            List.of(
                new UserScramCredentialUpsertion(
                    name,
                    new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS),
                    password)))
        .all()
        .get();
    return Files.writeString(
        folder.resolve(name + ".properties"),
        String.join(
            "\n",
            "security.protocol=SASL_SSL",
            "sasl.mechanism=SCRAM-SHA-512",
            "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required"
                + " username=\""
                + name
                + "\" password=\""
                + password
                + "\";",
            "ssl.truststore.type=PEM",
            "ssl.truststore.location=" + certificates.authority(),
            ""));
  }

  /** Allows more. */
  public void allow(List<AclBinding> acls) throws ExecutionException, InterruptedException {
    admin.createAcls(acls).all().get();
  }

  /** Takes back what was allowed. */
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
    TempFolders.delete(folder);
  }
}
