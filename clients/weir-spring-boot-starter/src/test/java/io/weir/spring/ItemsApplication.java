// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** A Spring Boot application with three routes, as a user of the starter would write it. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class ItemsApplication {
  /** The routes of the application. Spring finds them as a member of the configuration. */
  @RestController
  static final class ItemsController {
    @GetMapping({"/v1/items/{id}", "/v1/exports/{id}"})
    String item(@PathVariable("id") String id) {
      return "item " + id;
    }

    /** Handles a request on another thread than the thread of the filter. */
    @GetMapping("/v1/jobs/{id}")
    Callable<String> job(@PathVariable("id") String id) {
      return () -> "job " + id;
    }
  }

  /** Starts the application with an embedded servlet container on a free port. */
  static ConfigurableApplicationContext start(String... properties) {
    return run(ItemsApplication.class, WebApplicationType.SERVLET, properties);
  }

  /** Starts an application with properties of the form {@code name=value}. */
  static ConfigurableApplicationContext run(
      Class<?> application, WebApplicationType type, String... properties) {
    List<String> arguments =
        new ArrayList<>(List.of("--server.port=0", "--spring.main.banner-mode=off"));
    // the gateway is on the class path of all tests, but must start only in its own application
    arguments.add(
        "--spring.cloud.gateway.server.webflux.enabled=" + (type == WebApplicationType.REACTIVE));
    for (String property : properties) {
      arguments.add("--" + property);
    }
    return new SpringApplicationBuilder(application)
        .web(type)
        .run(arguments.toArray(String[]::new));
  }

  /** Returns the port of an application. */
  static int port(ConfigurableApplicationContext application) {
    return Objects.requireNonNull(((WebServerApplicationContext) application).getWebServer())
        .getPort();
  }
}
