//! Which addresses may be asked about signing in to a server: public ones, and those of this machine or of a private network
//! where the URL of the server itself is there.
//!
//! What a server publishes names hosts, and a name may lead to an address that only this machine can reach. So names are
//! resolved here, and what is connected to is what was judged. The answers for the server's own name widen nothing: the
//! server may decide them. What is asked is `issuer_client.rs`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use crate::loopback::is_loopback;

/// Variables that name a proxy; with one, its name alone is resolved here.
const PROXY_VARIABLES: [&str; 6] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressKind {
    Public,
    Loopback,
    /// Of a network of its own, such as 10.0.0.0/8.
    Private,
    /// Of one link, of a group, for documentation, or of no machine: nobody signs in there, and clouds keep secrets there.
    Reserved,
}

impl AddressKind {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => embedded(address).map_or_else(|| Self::of_v6(address), Self::of_v4),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let [first, second, ..] = address.octets();
        match (first, second) {
            (127, _) => Self::Loopback,
            (10, _) | (172, 16..=31) | (192, 168) | (100, 64..=127) => Self::Private,
            // This network, link-local, benchmarks, groups and what is not given away.
            (0, _) | (169, 254) | (198, 18..=19) | (224.., _) => Self::Reserved,
            (_, _) => Self::Public,
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let [first, second, third, ..] = address.segments();
        // Link-local, Teredo, and NAT64 of one network: what is behind them cannot be told.
        let is_hidden =
            first & 0xffc0 == 0xfe80 || [first, second] == [0x2001, 0] || [first, second, third] == [0x64, 0xff9b, 1];
        if address.is_loopback() {
            Self::Loopback
        } else if first & 0xfe00 == 0xfc00 {
            Self::Private
        } else if address.is_unspecified() || address.is_multicast() || is_hidden {
            Self::Reserved
        } else {
            Self::Public
        }
    }
}

/// The older address that a newer one stands for: mapped, compatible, NAT64 or 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| {
        let ([first, second], [third, fourth]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(first, second, third, fourth)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if !address.is_loopback() && !address.is_unspecified() => Some(joined(high, low)),
        _ => None,
    }
}

/// The addresses that may be asked for one server.
#[derive(Debug, Clone)]
pub(super) struct AllowedAddresses {
    /// That of the server, where its URL has one.
    own: Option<IpAddr>,
    is_local: bool,
    is_private: bool,
    proxies: Arc<[String]>,
}

impl AllowedAddresses {
    /// Those for the server at this URL.
    pub(super) fn of(server: &Url) -> Self {
        let own = literal(server);
        let proxies = PROXY_VARIABLES.iter().filter_map(|name| host_of_proxy(&std::env::var(name).ok()?));
        Self {
            own,
            is_local: is_loopback(server),
            is_private: own.map(AddressKind::of) == Some(AddressKind::Private),
            proxies: proxies.collect(),
        }
    }

    /// Whether the URL may be asked. One with a name is judged when the name is resolved.
    pub(super) fn allows(&self, url: &Url) -> bool {
        literal(url).is_none_or(|address| self.own == Some(address) || self.allows_address(address))
    }

    fn allows_address(&self, address: IpAddr) -> bool {
        match AddressKind::of(address) {
            AddressKind::Public => true,
            AddressKind::Loopback => self.is_local,
            AddressKind::Private => self.is_private,
            AddressKind::Reserved => false,
        }
    }
}

impl Resolve for AllowedAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.clone();
        Box::pin(async move {
            let host = plain(name.as_str());
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let is_proxy = allowed.proxies.contains(&host);
            let may_be_asked = |address: &SocketAddr| is_proxy || allowed.allows_address(address.ip());
            let usable: Vec<SocketAddr> = found.into_iter().filter(may_be_asked).collect();
            if usable.is_empty() {
                return Err("the host has no address that may be asked for this server".into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

/// The name of a proxy, which a variable may have without a scheme.
fn host_of_proxy(value: &str) -> Option<String> {
    let url = if value.contains("://") { Url::parse(value) } else { Url::parse(&format!("http://{value}")) };
    url.ok()?.host_str().map(plain)
}

fn plain(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(server: &str) -> AllowedAddresses {
        AllowedAddresses { proxies: Arc::new([]), ..AllowedAddresses::of(&Url::parse(server).expect("a URL")) }
    }

    fn kind(address: &str) -> AddressKind {
        AddressKind::of(address.parse().expect("an address"))
    }

    #[test]
    fn each_address_is_of_the_kind_of_the_machine_that_it_leads_to() {
        for (expected, addresses) in [
            (AddressKind::Public, "93.184.216.34 2606:4700::1111 64:ff9b::5db8:d822 172.32.0.1 100.128.0.1"),
            (AddressKind::Loopback, "127.0.0.1 127.9.9.9 ::1 ::ffff:127.0.0.1 2002:7f00:1::"),
            (AddressKind::Private, "10.0.0.9 172.16.0.1 192.168.1.1 100.64.0.1 fd00::1 64:ff9b::a00:9"),
            (AddressKind::Reserved, "169.254.169.254 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::"),
            (AddressKind::Reserved, "0.0.0.0 :: 224.0.0.1 240.0.0.1 255.255.255.255 198.18.0.1 fe80::1 ff02::1"),
            (AddressKind::Reserved, "2001:0:4136:e378::1 64:ff9b:1::a9fe:a9fe ::169.254.169.254"),
        ] {
            for address in addresses.split(' ') {
                assert_eq!(kind(address), expected, "{address}");
            }
        }
    }

    #[test]
    fn a_server_leads_to_internal_addresses_only_where_it_is_internal_itself() {
        let may = |server: &str, url: &str| allowed(server).allows(&Url::parse(url).expect("a URL"));
        for url in ["http://127.0.0.1:1/", "http://[::1]/", "http://10.0.0.1/token", "http://169.254.169.254/latest"] {
            assert!(!may("https://mcp.example/mcp", url), "{url}");
        }
        assert!(may("https://mcp.example/mcp", "https://93.184.216.35/token"));
        assert!(may("http://127.0.0.1:3000/mcp", "http://127.0.0.2:8080/token"));
        assert!(may("http://localhost:3000/mcp", "http://127.0.0.1:8080/token"));
        assert!(may("https://10.0.0.4/mcp", "https://10.0.0.9/token"));
        assert!(!may("https://10.0.0.4/mcp", "http://127.0.0.1/token"), "another machine's server is not this one's");
        assert!(may("http://0.0.0.0:3000/mcp", "http://0.0.0.0:3000/token"), "the server itself is asked anyway");
    }

    #[tokio::test]
    async fn a_name_is_judged_by_the_addresses_that_it_leads_to() {
        let resolved = async |server: &str| allowed(server).resolve("localhost".parse().expect("a name")).await.is_ok();
        assert!(!resolved("https://mcp.example/mcp").await, "of a server elsewhere it may not be asked");
        assert!(resolved("http://127.0.0.1/mcp").await);
        let proxied =
            AllowedAddresses { proxies: Arc::new(["localhost".to_owned()]), ..allowed("https://mcp.example/mcp") };
        assert!(proxied.resolve("localhost".parse().expect("a name")).await.is_ok(), "a proxy is its person's choice");
    }

    #[test]
    fn proxies_are_known_by_their_host() {
        assert_eq!(host_of_proxy("http://Proxy.example.:3128").as_deref(), Some("proxy.example"));
        assert_eq!(host_of_proxy("proxy.example:3128").as_deref(), Some("proxy.example"));
    }
}
